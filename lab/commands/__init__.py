"""The commands `warmbase demo` and `warmbase lab`, which only a checkout has."""
