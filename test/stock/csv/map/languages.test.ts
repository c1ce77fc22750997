import { expect, test } from 'vitest'
import { aliasLanguages, aliasTable, weakLanguages } from '#src/stock/csv/map/alias-table.ts'
import { findMeanings, isKnownHeader } from '#src/stock/csv/map/aliases.ts'
import { withoutAccents } from '#src/stock/csv/map/header-name.ts'
import { fieldsOf, mapColumns, stockNumbers, sydney, twelve, typeTable } from './table.ts'

const vins = Array.from({ length: 12 }, (_, index) => `WVWZZZ1KZ6W${100_000 + index * 7}`)
const makes = twelve('Volkswagen', 'Renault', 'Seat', 'BMW')
const models = twelve('Golf', 'Clio', 'Ibiza', '320d')
const plates = Array.from({ length: 12 }, (_, index) => `AB-${120 + index}-CD`)
const years = twelve('2017', '2019', '2021')

/** The make-or-break fields as systems of each language write them, with their numbers and dates. */
const lists = {
  french: [
    ['N° de stock', 'stock_number', stockNumbers],
    ['Châssis', 'vin', vins],
    ['Immatriculation', 'plate', plates],
    ['Marque', 'make', makes],
    ['Modèle', 'model', models],
    ['Millésime', 'model_year', years],
    ['Kilométrage', 'odometer', twelve('12 500', '98 700', '45 000')],
    ['Prix TTC', 'price_asking', twelve('12 990 €', '8 450 €', '31 200 €')],
    ["Prix d'achat HT", 'cost', twelve('9 100,00', '6 200,50', '25 000,00')],
    ["Date d'entrée en stock", 'received_date', twelve('14/02/2026', '28/01/2026')],
    ['Date de mise en circulation', 'registration_date', twelve('01/06/2017', '15/09/2019')],
  ],
  german: [
    ['Bestands-Nr.', 'stock_number', stockNumbers],
    ['Fahrgestellnummer (FIN)', 'vin', vins],
    ['Amtl. Kennzeichen', 'plate', plates],
    ['Hersteller', 'make', makes],
    ['Modell', 'model', models],
    ['Baujahr', 'model_year', years],
    ['Kilometerstand', 'odometer', twelve('12.500', '98.700', '45.000')],
    ['VK-Preis brutto', 'price_asking', twelve('12.990,00 €', '8.450,00 €')],
    ['EK netto', 'cost', twelve('9.100,00', '6.200,50')],
    ['Eingangsdatum', 'received_date', twelve('14.02.2026', '28.01.2026')],
    ['Erstzulassung', 'registration_date', twelve('01.06.2017', '15.09.2019')],
  ],
  spanish: [
    ['Nº de inventario', 'stock_number', stockNumbers],
    ['Bastidor', 'vin', vins],
    ['Matrícula', 'plate', plates],
    ['Marca', 'make', makes],
    ['Modelo', 'model', models],
    ['Año', 'model_year', years],
    ['Kilometraje', 'odometer', twelve('12.500', '98.700', '45.000')],
    ['Precio de venta con IVA', 'price_asking', twelve('12.990 €', '8.450 €')],
    ['Coste', 'cost', twelve('9.100,00', '6.200,50')],
    ['Fecha de entrada', 'received_date', twelve('14/02/2026', '28/01/2026')],
    ['Fecha de matriculación', 'registration_date', twelve('01/06/2017', '15/09/2019')],
  ],
  arabic: [
    ['كود المخزون', 'stock_number', stockNumbers],
    ['رقم الشاسي', 'vin', vins],
    ['لوحة السيارة', 'plate', plates],
    ['ماركة السيارة', 'make', makes],
    ['اسم الموديل', 'model', models],
    ['سنة الإنتاج', 'model_year', years],
    ['المسافة المقطوعة', 'odometer', twelve('12500', '98700', '45000')],
    ['السعر شامل الضريبة', 'price_asking', twelve('12990', '8450', '31200')],
    ['تكلفة الشراء', 'cost', twelve('9100', '6200', '25000')],
    ['تاريخ دخول المعرض', 'received_date', twelve('14/02/2026', '28/01/2026')],
    ['تاريخ التسجيل', 'registration_date', twelve('01/06/2017', '15/09/2019')],
  ],
} as const

test.for(Object.entries(lists))('a %s list is mapped without a question', ([, columns]) => {
  const mapping = mapColumns(columns.map(([header, , cells]) => [header, cells]))

  const wanted = Object.fromEntries(columns.map(([header, field]) => [header, field]))
  expect({ ...fieldsOf(mapping), questions: mapping.questions }).toEqual({
    ...wanted,
    questions: [],
  })
})

test.for(Object.entries(lists))(
  '%s headers may be written without accents and in capitals',
  ([, columns]) => {
    const plain = columns.map(
      ([header, , cells]) => [withoutAccents(header).toUpperCase(), cells] as const,
    )

    expect(Object.values(fieldsOf(mapColumns(plain)))).toEqual(columns.map(([, field]) => field))
  },
)

test.for(['french', 'german', 'spanish'] as const)(
  'the numbers and dates of a %s list are read',
  (language) => {
    const columns = lists[language]
    const rows = vins.map((_, row) => columns.map(([, , cells]) => cells[row]!))

    const { rows: typed } = typeTable(
      columns.map(([header]) => header),
      rows,
      sydney,
    )

    expect(typed.map(({ status }) => status)).toEqual(Array(12).fill('accepted'))
    expect(typed[0]!.unit).toMatchObject({
      ...{ stock_no: 'U1001', vin: vins[0], make: 'Volkswagen', model: 'Golf', model_year: 2017 },
      ...{
        odometer_km: 12_500,
        asking_price: '12990.000',
        cost: '9100.000',
        acquired_on: '2026-02-14',
      },
    })
  },
)

const kilometres = twelve('12 500', '98 700', '45 000')

test('two columns of the same numbers are separated by their headers alone, in any order', () => {
  const stock = ['N° de stock', stockNumbers] as const
  const [distance, price] = [
    ['Kilométrage', kilometres],
    ['Prix', kilometres],
  ] as const

  for (const columns of [
    [stock, distance, price],
    [stock, price, distance],
  ])
    expect(fieldsOf(mapColumns(columns))).toMatchObject({
      Kilométrage: 'odometer',
      Prix: 'price_asking',
    })
})

test.for([
  ['Prix', 'price_asking', twelve('à débattre 9 000', 'voir 12 500 annonce')],
  ['Kilométrage', 'odometer', twelve('faible', '15xxx')],
  ['Baujahr', 'model_year', twelve('06/2017-12/2018', 'neu')],
  ['Precio', 'price_asking', twelve('desde 12.000 a 14.000', 'oferta 9.000 a 9.500')],
  ['Eingangsdatum', 'received_date', twelve('gestern', 'letzte Woche')],
] as const)('%s, whose cells are no %s, is asked about', ([header, field, cells]) => {
  const asked = mapColumns([
    ['N° de stock', stockNumbers],
    ['Marque', makes],
    [header, cells],
  ])

  expect(asked.status).toBe('unsure')
  expect(asked.questions.flatMap(({ maps }) => maps)).toContain(`${field}=${header}`)
})

test('Modelo, Immatriculation and Matriculación mean what their values are', () => {
  const base = [
    ['Nº de stock', stockNumbers],
    ['Marca', makes],
  ] as const
  const dates = twelve('01/06/2017', '15/09/2019', '30/11/2018')
  const fieldOf = (header: string, cells: readonly string[]) =>
    fieldsOf(mapColumns([...base, [header, cells]]))[header]

  expect([fieldOf('Modelo', models), fieldOf('Modelo', years)]).toEqual(['model', 'model_year'])
  expect(fieldOf('Immatriculation', plates)).toBe('plate')
  expect(fieldOf('Immatriculation', dates)).toBe('registration_date')
  expect(fieldOf('Matriculación', dates)).toBe('registration_date')
})

test('the price with tax wins over the one without, and a trade price is not an asking price', () => {
  const [net, gross] = [twelve('10 825', '7 041'), twelve('12 990', '8 450')]
  const stock = ['Stock', stockNumbers] as const

  const french = mapColumns([stock, ['Prix HT', net], ['Prix TTC', gross], ['Prix marchand', net]])
  const german = mapColumns([stock, ['VK netto', net], ['VK brutto', gross], ['Händlerpreis', net]])

  expect(fieldsOf(french)).toMatchObject({
    'Prix TTC': 'price_asking',
    'Prix marchand': 'price_wholesale',
  })
  expect(fieldsOf(german)).toMatchObject({
    'VK brutto': 'price_asking',
    Händlerpreis: 'price_wholesale',
  })
})

test('every name finds its field, and none takes an English or Arabic one away', () => {
  const namesOf = (names: string) => names.split('|').map((name) => name.trim())
  const missed = [aliasTable, aliasLanguages].flatMap((table) =>
    Object.entries(table).flatMap(([field, names]) =>
      namesOf(names).filter(
        (name) => !findMeanings(name).some((meaning) => meaning.field === field),
      ),
    ),
  )
  const known = new Set(Object.values(aliasLanguages).flatMap(namesOf))
  const unknown = Object.values(weakLanguages)
    .flatMap(namesOf)
    .filter((name) => !known.has(name))

  // Known in two senses before: what the header says first is unchanged.
  expect(missed.filter((name) => !/^(state|registration|type|الموديل)$/.test(name))).toEqual([])
  expect(unknown).toEqual([])
})

test('only a whole name counts in these languages too', () => {
  const others = [
    'Prix de la course',
    'Kilométrage annuel prévu',
    'Preisliste',
    'Fecha de nacimiento',
  ]

  expect(others.map(isKnownHeader)).toEqual([false, false, false, false])
})

test('a sold vehicle and a price on request are recognised in each language', () => {
  const names = ['N° de stock', 'Marque', 'Prix', 'Statut']
  const rows = [
    ['U1001', 'Renault', 'Prix sur demande', 'Disponible'],
    ['U1014', 'Renault', '12 990', 'Vendu'],
    ['U1027', 'Renault', 'auf Anfrage', 'verkauft'],
    ['U1040', 'Renault', '8 450', 'VENDIDO'],
    ['U1053', 'Renault', '9 450', 'Reserviert'],
    ['U1066', 'Renault', '10 450', 'À vendre'],
  ]

  const { rows: typed } = typeTable(names, rows)

  expect(typed.map(({ status }) => status)).toEqual([
    'accepted',
    'skipped',
    'skipped',
    'skipped',
    'accepted',
    'accepted',
  ])
  expect(typed[0]!.unit).toMatchObject({ asking_price: null, price_on_application: true })
})
