import type { Region } from './world-types.ts'

// Texts for a generated world. People and places are invented; phone numbers are from ranges reserved for fiction.

/** What differs by region. */
interface RegionTexts {
  /** 2-3 uppercase letters [A §8]. */
  readonly states: readonly string[]
  readonly suburbs: readonly string[]
  readonly phones: readonly string[]
  readonly firstNames: readonly string[]
  readonly lastNames: readonly string[]
}

/** Words by region. */
export const regionTexts: Readonly<Record<Region, RegionTexts>> = {
  AU: {
    states: ['NSW', 'QLD', 'VIC', 'SA', 'WA'],
    suburbs: ['Artarmon', 'Fortitude Valley', 'Box Hill', 'Unley', "O'Connor"],
    phones: ['0491 570 006', '0491 570 156', '+61 491 570 157', '(02) 5550 1234'],
    firstNames: ['Olivia', 'Jack', 'Mia', 'Lachlan', 'Siobhán', 'Nguyễn'],
    lastNames: ["O'Brien", 'Walker', 'Nguyen', 'Papadopoulos', 'Smith-Jones'],
  },
  US: {
    states: ['IL', 'TX', 'WI', 'IN', 'MI'],
    suburbs: ['Naperville', 'Plano', 'Oak Park', "Coeur d'Alene"],
    phones: ['(312) 555-0142', '312-555-0187', '+1 469 555 0110'],
    firstNames: ['Emma', 'Liam', 'José', 'Ava', 'DeShawn'],
    lastNames: ['Johnson', 'García', 'Miller', 'Von der Heide', 'Lee'],
  },
  GCC: {
    states: ['DXB', 'AUH', 'SHJ', 'KWT'],
    suburbs: ['Al Quoz', 'السالمية', 'Shuwaikh', 'القوز'],
    phones: ['+965 5550 0123', '+971 50 555 0144', '٠٥٠٥٥٥٠١٩٩'],
    firstNames: ['Fatima', 'محمد', 'Omar', 'نورة', 'Priya'],
    lastNames: ['Al-Sabah', 'العلي', 'Hassan', 'Nair'],
  },
}

/** Colours, including some that break a careless reader. */
export const colours: readonly string[] = ['White', 'Black', 'Silver', 'Blau métallisé', 'أبيض', '']

/** Labels of photo angles. */
export const angles: readonly (string | null)[] = ['front', 'rear', 'left', 'interior', null]

/** Notes of an ordinary evaluation. */
export const notes: readonly string[] = [
  'Tidy, two keys, full history.',
  'Scuffed front left rim, stone chips on bonnet.',
  'Customer wants an answer by Friday.',
  'Warning light on, see workshop quote.',
]

/** Texts that break a careless pipeline; each is legal in JSON. */
export const awkwardTexts: readonly string[] = [
  'Zero\u0000in the middle',
  'Cut emoji \ud83d',
  '\ude97 low surrogate first',
  'سيارة نظيفة جدًا، فحص وكالة ١٠٠٪',
  'Family 👨‍👩‍👧‍👦 in a 🚗💨',
  'He said "as new" and \\ walked off \\N',
  'First line\nsecond line\r\nthird\ttabbed\rold Mac',
  '\ufeffBOM, then \u2028 and \u2029 and \u202eright-to-left',
  "'); drop table evaluation; --",
  '=HYPERLINK("http://example.invalid","click")',
  '{"looks": ["like", "JSON"]}',
  '   ',
  '',
  'NULL',
  'e\u0301 is not \u00e9',
]

/** A note of 50 KB (1 KB = 1,024 bytes, ASCII). */
export const longNote: string = 'Panel beater quote, line by line. '.repeat(1600).slice(0, 51_200)
