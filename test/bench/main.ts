// npm run bench: prints each figure beside a reference measured in the same run; exits with 1 when a counted one misses its target.
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { growInSmallSteps } from '#src/heap.ts'
import { bench } from './bench.ts'

growInSmallSteps()
const { values } = parseArgs({
  options: {
    /** Short measurements, less precise. */
    quick: { type: 'boolean', default: false },
    /** Only what is the same on every machine. */
    counted: { type: 'boolean', default: false },
    /** Only these cases. */
    case: { type: 'string', multiple: true, default: [] },
    /** Gets everything that was measured as JSON. */
    results: { type: 'string' },
    /** Gets a chart of the ratios. */
    svg: { type: 'string' },
  },
})
const { quick, counted, case: cases, results, svg } = values
// A folder that is missing is reported now, not after half an hour.
for (const file of [results, svg]) if (file !== undefined) writeFileSync(file, '')
const report = await bench({ quick, counted, cases }, (line) => console.error(line))
if (results !== undefined) writeFileSync(results, `${JSON.stringify(report.document, null, 2)}\n`)
if (svg !== undefined) writeFileSync(svg, report.svg)
console.log(report.table)
process.exit(report.exitCode)
