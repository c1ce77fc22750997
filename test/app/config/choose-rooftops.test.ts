import { expect, test } from 'vitest'
import { matchRooftop, rooftopLabel } from '#src/app/config/choose-rooftops.ts'

const northside = { uid: '7f3a0c12-aa', name: 'Northside' }
const southside = { uid: '7f3a0d99-bb', name: 'Southside' }
const namedLikeAUid = { uid: '91c4e2b7-cc', name: '7f3a' }
const shared = [
  { uid: '1111aaaa', name: 'City' },
  { uid: '2222bbbb', name: 'City' },
]
const rooftops = [northside, southside, ...shared]

test.each([
  ['7f3a0c12-aa', northside],
  ['7f3a0c', northside],
  ['7F3A0C', northside],
  ['Northside', northside],
  ['northside', northside],
  ['2222', shared[1]],
])('--rooftop %s is found by uid, the beginning of the uid or name', (text, expected) => {
  expect(matchRooftop(text, rooftops)).toBe(expected)
})

test('a whole name wins over the beginning of a uid', () => {
  expect(matchRooftop('7f3a', [...rooftops, namedLikeAUid])).toBe(namedLikeAUid)
})

test.each([
  [
    '7f3a0',
    '--rooftop 7f3a0 matches 2 rooftops: Northside (7f3a0c12-aa), Southside (7f3a0d99-bb). Write more of the uid.',
  ],
  ['City', '--rooftop City matches 2 rooftops: City (1111aaaa), City (2222bbbb).'],
  ['111', '--rooftop 111 is too short: write at least the first 4 characters of the uid.'],
  [
    'Nortside',
    'is not in the config (did you mean Northside (7f3a0c12-aa)?); known are: Northside',
  ],
  [
    'north',
    '--rooftop north is not in the config: write the whole name, or the first 4 or more characters of the uid. Did you mean Northside (7f3a0c12-aa)?',
  ],
  ['side', '--rooftop side is not in the config; known are'],
  ['zzzz', '--rooftop zzzz is not in the config; known are: Northside (7f3a0c12-aa), Southside'],
  ['', 'is not in the config; known are'],
])('--rooftop %j is refused with the candidates', (text, message) => {
  expect(() => matchRooftop(text, rooftops)).toThrow(message)
})

test('of many rooftops the message lists the first ten', () => {
  const many = Array.from({ length: 5000 }, (_, index) => ({ uid: `uid-${index}`, name: 'Same' }))

  expect(() => matchRooftop('none', many, 'in the warehouse')).toThrow(
    /not in the warehouse; known are: (Same \(uid-\d\), ){9}Same \(uid-9\) and 4990 more\.$/,
  )
})

test('a rooftop is shown with its name and uid, and once where they are the same', () => {
  expect(rooftopLabel(northside)).toBe('Northside (7f3a0c12-aa)')
  expect(rooftopLabel({ uid: 'city', name: 'city' })).toBe('city')
})
