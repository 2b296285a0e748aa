"""The program that runs an environment: in a child process, with the user's interpreter and the user's packages.

It is loaded under a name of its own (`start.py`), so no module of an environment can be mistaken for one of ours. What
it reports is data for the parent, which trusts none of it: an environment shares this process and could write anything.
"""
