"""Stand-ins at the boundary of a driver: libraries in C, and the files below /sys, /proc and /dev that a machine has."""
