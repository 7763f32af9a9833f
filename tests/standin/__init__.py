"""Stand-ins at the boundary of a driver: libraries in C, and the files of a machine below /sys, /proc and /dev."""
