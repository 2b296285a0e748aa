"""Checks every plan of a folder, for a continuous integration: nothing is trained and nothing is written.

    python3 check_plans.py plans/
    python3 check_plans.py plans/ --machine cluster.json      for the machine that doctor.py --machine-out described

Exit status: 0 every plan is valid, 1 some plan is not, 2 some plan could not be checked, or there is none.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

BUNDLE = Path("@BUNDLE@")
"""The folder of the skill that holds scripts/."""


def check(plan: Path, machine: str | None) -> dict[str, Any]:
    """The report of validate_plan.py about one plan."""
    command = [sys.executable, str(BUNDLE / "scripts" / "validate_plan.py"), str(plan), "--json"]
    command += [f"--machine={machine}"] if machine else []
    result = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=120, check=False
    )
    try:
        report: dict[str, Any] = json.loads(result.stdout)
    except ValueError:
        # A check that gave no report is not a pass.
        return {"exit_status": 2, "summary": "no report", "findings": []}
    return report


def main() -> int:
    """All plans, in the order of their names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder with plans: *.json, without approvals")
    parser.add_argument("--machine", metavar="FILE", help="check for the machine in this file")
    options = parser.parse_args()
    plans = sorted(path for path in options.folder.glob("*.json") if not path.name.endswith(".approval.json"))
    if not plans:
        print(f"no plan in {options.folder}", file=sys.stderr)
        return 2
    worst = 0
    for plan in plans:
        report = check(plan, options.machine)
        status = int(report["exit_status"])
        # "Could not check" weighs more than "checked, and wrong": nobody knows what it hides.
        worst = max(worst, status)
        tier = f", tier {report['tier']}" if status == 0 else ""
        print(f"{'ok' if status == 0 else 'NO':<3} {plan}{tier}")
        for finding in report["findings"]:
            print(f"    {finding['severity']} at {finding['pointer'] or '/'}: {finding['message']} [{finding['code']}]")
            if finding["fix"]:
                print(f"      fix  {finding['fix']}")
    print(f"{len(plans)} plans, exit status {worst}")
    return worst


if __name__ == "__main__":
    sys.exit(main())
