"""The commands, one module each: parse, call, print, exit."""
