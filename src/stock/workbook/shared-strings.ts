import type { CsvFileError } from '../csv/read/csv-file.ts'
import { saveAsCsv, tooLarge, type WorkbookLimits } from './limits.ts'
import { RichText } from './rich-text.ts'
import { TextTable } from './text-table.ts'
import { cellTooLong, readXml, type XmlSource } from './xml.ts'

/** The texts that cells refer to by their number. */
export async function readSharedStrings(source: XmlSource): Promise<TextTable> {
  const { limits, name } = source
  const where = `a text of ${name}`
  const texts = new TextTable()
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
      texts.add(text)
      if (characters > limits.sharedCharacters || texts.count > limits.sharedTexts)
        throw tooManyTexts(limits)
    },
    text: (text) => {
      // With escapes it may be longer than what it means.
      if (rich.add(text) > 8 * limits.cellLength) throw cellTooLong(where, limits)
    },
  })
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
