import type { CsvFileError } from '../csv/read/csv-file.ts'
import { saveAsCsv, tooLarge, type WorkbookLimits } from './limits.ts'
import { RichText } from './rich-text.ts'
import { cellTooLong, readXml, type XmlSource } from './xml.ts'

/** How many texts are copied at a time. */
const copied = 4096

/** The texts that cells refer to by their number. */
export async function readSharedStrings(source: XmlSource): Promise<readonly string[]> {
  const { limits, name } = source
  const where = `a text of ${name}`
  const texts: string[] = []
  let fresh: string[] = []
  let characters = 0
  const rich = new RichText()
  await readXml(source, 'sst', {
    open: (element, attributes) => {
      if (element === 'si') rich.start()
      else rich.open(element, attributes)
    },
    close: (element) => {
      if (element !== 'si') return rich.close(element)
      const text = rich.end()
      if (text.length > limits.cellLength) throw cellTooLong(where, limits)
      characters += text.length
      fresh.push(text)
      if (characters > limits.sharedCharacters || texts.length > limits.sharedTexts)
        throw tooManyTexts(limits)
      if (fresh.length < copied) return
      texts.push(...released(fresh))
      fresh = []
    },
    text: (text) => {
      // With escapes it may be longer than what it means.
      if (rich.add(text) > 8 * limits.cellLength) throw cellTooLong(where, limits)
    },
  })
  texts.push(...released(fresh))
  return texts
}

function tooManyTexts(limits: WorkbookLimits): CsvFileError {
  const [texts, characters] = [limits.sharedTexts, limits.sharedCharacters]
  return tooLarge(
    'the workbook has too many different texts',
    `${texts.toLocaleString('en')} texts with ${characters.toLocaleString('en')} characters`,
    `delete sheets that are not part of the stock list, or ${saveAsCsv}`,
  )
}

/** Copies of the texts: a piece of a larger text would keep all of that in memory. */
function released(texts: readonly string[]): string[] {
  return JSON.parse(JSON.stringify(texts)) as string[]
}
