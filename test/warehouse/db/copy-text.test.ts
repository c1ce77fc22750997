import { expect, test } from 'vitest'
import { CopyText } from '#src/warehouse/db/copy-text.ts'

test('a text of many pieces is their UTF-8, however far it grows', () => {
  const text = new CopyText()
  const pieces = Array.from({ length: 20_000 }, (_, index) => `${index}\tä€🚗\n`)
  for (const piece of pieces) text.append(piece)

  expect(text.bytes.toString()).toBe(pieces.join(''))
  expect(text.length).toBe(Buffer.byteLength(pieces.join('')))
})

test('a part of one text is appended to another', () => {
  const [from, to] = [new CopyText(), new CopyText()]
  from.append('one\ntwo\nthree\n')
  to.append('zero\n')
  for (let times = 0; times < 20_000; times++) to.appendFrom(from, 4, 8)

  expect(to.bytes.toString()).toBe(`zero\n${'two\n'.repeat(20_000)}`)
})
