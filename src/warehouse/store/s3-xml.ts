import { SaxesParser } from 'saxes'

/** The texts of all elements with that name, in their order; none when the text is not XML. */
export function elementTexts(xml: string, element: string): string[] {
  return elementRecords(xml, element, [element]).map((record) => record[element] ?? '')
}

/** The named children of every `element`, as text; the element itself under its own name. */
export function elementRecords(
  xml: string,
  element: string,
  names: readonly string[],
): Readonly<Record<string, string>>[] {
  const records: Record<string, string>[] = []
  const parser = new SaxesParser({ position: false })
  let record: Record<string, string> | null = null
  let text = ''
  parser.on('opentag', ({ name }) => {
    text = ''
    if (name === element) record = {}
  })
  parser.on('text', (piece) => {
    text += piece
  })
  parser.on('closetag', ({ name }) => {
    if (record !== null && names.includes(name)) record[name] = text
    if (name === element && record !== null) {
      records.push(record)
      record = null
    }
    text = ''
  })
  // A proxy may answer with a page.
  parser.on('error', () => undefined)
  parser.write(xml).close()
  return records
}
