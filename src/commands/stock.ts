import type { CommandDefinition } from './command.ts'
import { stockExport } from './stock-export.ts'
import { stockImport } from './stock-import.ts'

export const stock: CommandDefinition = {
  usage: 'stock',
  summary: 'import <file> | export: dealer stock lists in, and priced out again',
  examples: [
    'forecourt stock import stock.csv --rooftop 7f3a',
    'forecourt stock export --rooftop 7f3a --out priced.csv',
  ],
  subcommands: [stockImport, stockExport],
  run: () => Promise.resolve(undefined),
}
