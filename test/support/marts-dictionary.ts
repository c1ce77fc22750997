import { joinsOf, keyOf, type MartColumn, type MartView } from './marts-catalogue.ts'

const sections = [
  { title: 'Dimensions', belongs: (name: string) => name.startsWith('dim_') },
  { title: 'Facts', belongs: (name: string) => /^(fact_|evaluation_wide$)/.test(name) },
  { title: 'Reports', belongs: (name: string) => name.startsWith('rpt_') },
  { title: 'More', belongs: () => true },
] as const

/** sql/marts/DICTIONARY.md: every view and column of the marts with what their comments say. */
export function dictionaryPage(version: string, views: readonly MartView[]): string {
  const placed = views.map((view) => ({
    view,
    title: sections.find(({ belongs }) => belongs(view.name))!.title,
  }))
  const parts = sections.map(({ title }) => {
    const own = placed.filter((one) => one.title === title).map(({ view }) => view)
    return [`## ${title}`, ...own.map(viewText)].join('\n\n')
  })
  return `${[opening(version), diagram(views), ...parts].join('\n\n')}\n`
}

function opening(version: string): string {
  return [
    '# Data dictionary of the marts',
    `<!-- Written by \`npm run marts\` from the comments in sql/marts; do not edit. -->`,
    `Version ${version}. The same is in the view \`mart.data_dictionary\`, and in the comments that JDBC tools show.`,
    [
      '- Money is in the `currency_code` of its row and is never summed over currencies; shares run from 0 to 1 unless the column says otherwise.',
      '- Dates are those of the rooftop; instants are UTC. `month_start` is the first day of the month.',
      '- Evaluations that the service no longer shows are in the facts with `is_gone` and in no report.',
      '- Views have no primary or foreign keys: `key` and `joins` below replace them.',
      '- `[A §n]` and `[V §n]` are sections of the documents of the appraisal service and of the vehicle-data APIs.',
    ].join('\n'),
  ].join('\n\n')
}

/** Dimensions and facts; every report joins to the same dimensions. */
function diagram(views: readonly MartView[]): string {
  const drawn = views.filter(({ name }) => /^(dim_|fact_|evaluation_wide$)/.test(name))
  const boxes = drawn.map((view) => {
    const key = new Set(keyOf(view))
    const joined = new Set(joinsOf(view).map(({ column }) => column))
    const shown = view.columns.filter(({ name }) => key.has(name) || joined.has(name))
    const lines = shown.map(({ name, type }) => {
      const marks = [key.has(name) ? 'PK' : '', joined.has(name) ? 'FK' : ''].filter(Boolean)
      return `    ${plainType(type)} ${name}${marks.length > 0 ? ` ${marks.join(', ')}` : ''}`
    })
    return [`  ${view.name} {`, ...lines, '  }'].join('\n')
  })
  const names = new Set(drawn.map(({ name }) => name))
  const lines = drawn.flatMap((view) =>
    joinsOf(view)
      .filter(({ toView }) => names.has(toView))
      .map(({ column, toView }) => `  ${toView} ${lineOf(view, column)} ${view.name} : ${column}`),
  )
  return ['```mermaid', 'erDiagram', ...boxes, ...lines, '```'].join('\n')
}

/** From the one side to the other: whether a row may lead nowhere, and how many may lead to the same. */
function lineOf(view: MartView, column: string): string {
  const { comment } = view.columns.find(({ name }) => name === column)!
  const one = /\bnull\b/.test(comment.text) ? '|o' : '||'
  return `${one}--${keyOf(view).join() === column ? 'o|' : 'o{'}`
}

/** Mermaid takes no blanks and brackets with commas in a type. */
function plainType(type: string): string {
  const short: Readonly<Record<string, string>> = {
    'character varying': 'varchar',
    character: 'char',
    'timestamp with time zone': 'timestamptz',
  }
  const bare = type.replace(/\(.*\)$/, '')
  return short[bare] ?? bare
}

function viewText(view: MartView): string {
  const { parts, text } = view.comment
  const facts = ['grain', 'key', 'history', 'freshness'].map(
    (name) => `- ${name}: ${parts[name] ?? ''}`,
  )
  return [
    `### ${view.schema}.${view.name}`,
    text,
    facts.join('\n'),
    ['| column | type | unit | what it is | source | joins |', '|---|---|---|---|---|---|']
      .concat(view.columns.map(columnRow))
      .join('\n'),
  ].join('\n\n')
}

function columnRow({ name, type, comment: { text, parts } }: MartColumn): string {
  const cells = [`\`${name}\``, type, parts['unit'], text, parts['source'], parts['joins']]
  return `| ${cells.map((cell) => (cell ?? '').replaceAll('|', '\\|')).join(' | ')} |`
}
