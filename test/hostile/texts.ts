export const megabyte = 1024 * 1024
const fill = (part: string) => part.repeat(Math.ceil(megabyte / part.length)).slice(0, megabyte)
const half = (part: string) => fill(part).slice(0, megabyte / 2)

/** Texts of a megabyte that make a careless pattern take minutes. */
export const hostileTexts: readonly (readonly [name: string, text: string])[] = [
  ['letters before an @', `${fill('a')}@`],
  ['letters around an @', `${half('a')}@${half('a')}`],
  ['e-mails without an end', fill('a@')],
  ['escaped e-mails', fill('a%40.')],
  ['digits', fill('1')],
  ['digits and blanks', fill('1 ')],
  ['groups of digits', fill('01 (2)-')],
  ['blanks', fill(' ')],
  ['dashes among blanks', `${half(' ')}-${half(' ')}x`],
  ['blanks and line ends', `${fill(' \t')}x`],
  ['quotes', fill('"')],
  ['quotes within quotes', fill('"\'')],
  ['links', fill('http://')],
  ['questions', fill('?=')],
  ['dots and zeros', `${fill('.0')}x`],
  ['words', fill('ab ')],
]
