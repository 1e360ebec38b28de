"""How long tests wait for what must come: a loaded machine is slow, only a defect keeps it away for ever."""

PATIENCE_S = 300.0
