"""Long commands in pseudo-terminals of several widths: each draws a bar with rate and time left, and ends well.

python tools/soak/terminal.py
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.test_terminal import BAR, COMMANDS, LEFT, RATE, WIDTHS, Terminal, prepare


def main() -> int:
    """1 if any command fails at any width."""
    failed = 0
    for width in WIDTHS:
        with tempfile.TemporaryDirectory() as folder:
            prepare(Path(folder))
            for name, command in COMMANDS.items():
                shown, code = Terminal(command, width, folder).end()
                drawn = all(re.search(each, shown) for each in (BAR, LEFT, RATE))
                good = code == 0 and "Traceback" not in shown and drawn
                print(f"{width:4} columns  {name:18} {'good' if good else 'FAILED: ' + shown[-500:]}", flush=True)
                failed += not good
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
