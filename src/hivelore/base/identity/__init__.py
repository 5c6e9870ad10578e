"""Who is calling, and what they may see.

Static bearer keys (or the one user `local` on loopback) resolve to a principal; `visible` turns a principal and a scope
into the one SQL condition that every read carries.
"""
