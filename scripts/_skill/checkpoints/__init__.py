"""What a checkpoint file is and holds, found without loading it: no byte of the file ever decides what code runs.

`inspection` is the way in; `conversion` writes safetensors; the other modules read one format each.
"""
