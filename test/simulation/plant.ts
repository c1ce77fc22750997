import { registerHooks } from 'node:module'
import { type Mutant, type MutantName, mutants } from './mutants.ts'

// Loaded by `node --import` before anything else: plants the mutant that FORECOURT_MUTANT names while its file is loaded.
const name = process.env['FORECOURT_MUTANT'] as MutantName
const mutant: Mutant = mutants[name]
let planted = 0

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    if (!url.endsWith(`/src/${mutant.file}`)) return loaded
    const source = Buffer.from(loaded.source as Uint8Array).toString('utf8')
    const parts = source.split(mutant.text)
    if (parts.length !== 2)
      throw new Error(`"${mutant.text}" stands ${parts.length - 1} times in ${mutant.file}`)
    planted++
    return { ...loaded, source: parts.join(mutant.instead) }
  },
})

process.on('exit', () => {
  if (planted !== 1) process.exitCode = 3
})
