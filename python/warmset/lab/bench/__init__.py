"""`warmset bench`: what warmset's parts take on this machine, beside peers that are installed.

A case names what is measured, and its contestants take turns in one process on one core. Each
result is checked, before or after the clock runs: a case with a wrong result fails, and prints no
figure. Peers are optional; one that cannot take part is named with its reason.
"""
