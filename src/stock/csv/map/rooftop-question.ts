import type { CsvRecord } from '../read/csv-file.ts'
import { findMeanings } from './aliases.ts'
import { columnName } from './candidates.ts'
import type { Mapping, MappingQuestion } from './column-mapping.ts'
import { readHeader } from './header-name.ts'
import { isPlaceholder, plainText } from './typing/plain-text.ts'

const rooftopWords =
  /^(branch|rooftop|dealer|dealership|store|filiale?|agence|succursale|sucursal|الفرع)$/

/** Asks whether the rows are of several rooftops, where a column that names one has several values, unless a person has answered before. */
export function rooftopQuestions(
  { columns, absent }: Mapping,
  sample: readonly CsvRecord[],
): readonly MappingQuestion[] {
  const isAnswered = ({ field, source }: Mapping['columns'][number]) =>
    field === 'location' && (source === 'override' || source === 'remembered')
  if (absent.includes('location') || columns.some(isAnswered)) return []
  const questions = columns.flatMap((column): MappingQuestion[] => {
    const header = column.header ?? ''
    const isRooftop =
      readHeader(header).words.some((word) => rooftopWords.test(word)) &&
      findMeanings(header).some(({ field }) => field === 'location')
    if (!isRooftop) return []
    const texts = sample
      .filter(({ problem }) => problem === undefined)
      .map(({ cells }) => plainText(cells[column.index] ?? ''))
    const values = [...new Set(texts.filter((text) => !isPlaceholder(text, 'location')))]
    if (values.length < 2) return []
    const name = columnName(column, columns)
    const examples = values.slice(0, 3).map((value) => `"${value.slice(0, 40)}"`)
    const message = `The column "${name}" has ${values.length} values (${examples.join(', ')}): these may be vehicles of several rooftops. If so, import those of each with --only <column>=<value>. If all are of this one, that column holds location.`
    return [{ code: 'MAPPING_LOW_CONFIDENCE', message, maps: [`location=${name}`] }]
  })
  // Dealer ID and Dealer Name say the same.
  return questions.slice(0, 1)
}
