"""The commands, one file each, all called `command`: translate, call, print."""

__all__: list[str] = []
