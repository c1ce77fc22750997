import { readFileSync, writeFileSync } from 'node:fs'
import { withParts } from './readme-parts.ts'

// Run by `npm run readme`: fills in the parts of README.md that are made from the code.
const file = new URL('../../README.md', import.meta.url)
writeFileSync(file, withParts(readFileSync(file, 'utf8')))
console.log('Wrote README.md')
