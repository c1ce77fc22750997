// npm run dashboards: writes .deploy/grafana from test/support/dashboards.
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { dashboardFiles } from './dashboards/all.ts'

for (const [file, text] of dashboardFiles()) {
  await writeFile(fileURLToPath(new URL(`../../.deploy/grafana/${file}`, import.meta.url)), text)
  console.log(`Wrote .deploy/grafana/${file}`)
}
