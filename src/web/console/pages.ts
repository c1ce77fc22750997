import type { AnyPage } from './page.ts'
import { actions } from './pages/actions.ts'
import { backfills } from './pages/backfills.ts'
import { coverage } from './pages/coverage.ts'
import { coverageDay } from './pages/coverage-day.ts'
import { drift } from './pages/drift.ts'
import { evaluation } from './pages/evaluation.ts'
import { job } from './pages/job.ts'
import { jobs } from './pages/jobs.ts'
import { links } from './pages/links.ts'
import { morning } from './pages/morning.ts'
import { names } from './pages/names.ts'
import { priceMoves } from './pages/price-moves.ts'
import { quarantine } from './pages/quarantine.ts'
import { quarantined } from './pages/quarantined.ts'
import { report } from './pages/report.ts'
import { reports } from './pages/reports.ts'
import { rooftop } from './pages/rooftop.ts'
import { run } from './pages/run.ts'
import { runs } from './pages/runs.ts'
import { search } from './pages/search.ts'
import { spend } from './pages/spend.ts'
import { stock } from './pages/stock.ts'
import { stockCheck } from './pages/stock-check.ts'
import { stockImport } from './pages/stock-import.ts'
import { stockImports } from './pages/stock-imports.ts'
import { stockMapping } from './pages/stock-mapping.ts'
import { stockMappings } from './pages/stock-mappings.ts'
import { stockUnit } from './pages/stock-unit.ts'
import { stockUpload } from './pages/stock-upload.ts'
import { webhooks } from './pages/webhooks.ts'
import { work } from './pages/work.ts'

/** Every page, in the order of the navigation. The access matrix of the tests is made from it. */
export const pages: readonly AnyPage[] = [
  ...[morning, coverage, coverageDay, rooftop, runs, run, quarantine, quarantined],
  ...[work, backfills, jobs, job],
  ...[webhooks, links, spend, drift, names, actions],
  ...[reports, report],
  ...[stock, stockUnit, priceMoves, stockUpload, stockMapping, stockCheck],
  ...[stockImports, stockImport, stockMappings],
  ...[search, evaluation],
]
