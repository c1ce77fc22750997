import { readFileSync, writeFileSync } from 'node:fs'
import { pageTables, withTables } from './page-tables.ts'

// Run by `npm run pages`: writes the tables that are made from the code into the pages that hold them.
for (const page of Object.keys(pageTables)) {
  const file = new URL(`../../${page}`, import.meta.url)
  writeFileSync(file, withTables(page, readFileSync(file, 'utf8')))
  console.log(`Wrote ${page}`)
}
