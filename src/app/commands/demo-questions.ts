import { sql } from 'kysely'
import type { Db } from '../../warehouse/db/transaction.ts'

interface AnsweredQuestion {
  readonly question: string
  readonly sql: readonly string[]
  readonly headings: readonly string[]
  readonly rows: readonly (readonly (string | number)[])[]
  /** An id to ask `why` about. */
  readonly sample?: number
}

const questions: readonly { question: string; sql: string }[] = [
  {
    question: 'Which rooftops appraise most, and for how much in their currency?',
    sql: `select rooftop_name as rooftop, currency_code as currency,
  count(*)::int as appraisals,
  round(avg(final_price))::int as "average price"
from core.evaluation join core.rooftop using (rooftop_id, currency_code)
where gone_at is null
group by 1, 2 order by 3 desc`,
  },
  {
    question: 'How long from creation to completion, and how many took over a day?',
    sql: `select rooftop_name as rooftop,
  round(extract(epoch from percentile_cont(0.5) within group (
    order by completed_at - created_at)) / 60)::int as "median minutes",
  count(*) filter (
    where completed_at - created_at > interval '1 day'
  )::int as "over a day"
from core.evaluation join core.rooftop using (rooftop_id)
group by 1 order by 2 desc`,
  },
  {
    question: 'Which electric vehicles have the weakest batteries?',
    sql: `select rooftop_name as rooftop, eval_id::text as evaluation, make, model,
  battery_soh_pct::float8 as "battery %"
from core.reconditioning_item
join core.evaluation using (rooftop_id, eval_id)
join core.rooftop using (rooftop_id)
where battery_soh_pct is not null and last_version is null
order by 5, 2 limit 5`,
  },
]

/** The demo's three questions with their SQL, which runs as it is printed. */
export async function answerQuestions(db: Db): Promise<AnsweredQuestion[]> {
  const sample = await db
    .selectFrom('core.evaluation')
    .select('eval_id')
    .orderBy('eval_id')
    .limit(1)
    .executeTakeFirst()
  const answered: AnsweredQuestion[] = []
  for (const entry of questions) {
    const { rows } = await sql.raw<Record<string, string | number | null>>(entry.sql).execute(db)
    answered.push({
      question: entry.question,
      sql: entry.sql.split('\n'),
      headings: Object.keys(rows[0] ?? { answer: '' }),
      rows: rows.map((row) => Object.values(row).map((cell) => cell ?? '-')),
      ...(sample ? { sample: sample.eval_id } : {}),
    })
  }
  return answered
}
