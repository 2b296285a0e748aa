"""Ready templates of environments and training programs: each is a file, or a folder, that runs as it is.

Adding one is adding a file: `environments/NAME.py.txt` (Python that needs packages), `environments/NAME/` (a C header
and its train.json) or `training/NAME.py`. The first line of its docstring or comment is what the list says about it.
"""
