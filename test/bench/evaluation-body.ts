/** An evaluation of the benchmark: 29 rows in 6 tables, and about 4.4 KB of JSON. */
export interface BenchEvaluation {
  readonly evalId: number
  readonly dealerId: number
  /** Unix seconds. */
  readonly createdAt: number
  /** 0 at first; each revision has another price and a later UpdatedAt. */
  readonly revision: number
}

const photos = 12
const lines = 5
const fields = 8

/** The answer of `/geteval` for it [A §2]; the signed parts of its links change with every `signature`. */
export function evaluationBody(evaluation: BenchEvaluation, signature: number): string {
  const { evalId, dealerId, createdAt, revision } = evaluation
  const iso = (seconds: number) => new Date(seconds * 1000).toISOString()
  const price = 15_000 + (evalId % 20_000) + revision
  return (
    `[{"EvalID":${evalId},"DealerID":${dealerId},"VIN":"JTM${String(evalId).padStart(14, '0')}","CreatedAt":"${iso(createdAt)}",` +
    `"CompletedAt":"${iso(createdAt + 1800)}","UpdatedAt":"${updatedAt(evaluation)}","EntryDate":"${iso(createdAt).slice(0, 19).replace('T', ' ')}",` +
    `"FinalPrice":${price},"UserPrices":[{"price":${price - 500},"currency":"AUD"},{"price":${price - 900},"currency":"AUD"}],` +
    `"UserName":"Sam Sales ${evalId % 9}","UserEmail":"sam${evalId % 9}@dealer.example","Reconditioning":480.3,` +
    `"reconditioning_list":[${list(lines, (line) => `{"type":"tyres","source":"in-house","cost":${line * 96.06},"value":"${line}"}`)}],"CarPics":[],` +
    `"Photos":[${list(photos, (photo) => photoText(evalId * 100 + photo, photo, signature))}],` +
    `"customFields":{${list(fields, (field) => `"Field ${field}":{"type":"select","options":["Web","Phone","Walk in"],"value":"Web"}`)}},` +
    `"Make":"Toyota","Model":"RAV4","Variant":"GX Hybrid AWD","Year":"2021","Registration":"ABC${evalId % 1000}","RegistrationState":"NSW",` +
    `"Odometer":${20_000 + (evalId % 90_000)},"Colour":"White","Condition":7,"Notes":"One owner, full history, small dent at the rear door on the left.",` +
    `"CustomerName":"Pat Example ${evalId}","CustomerPhone":"0491 570 ${String(evalId % 1000).padStart(3, '0')}","CustomerEmail":"pat${evalId}@example.org",` +
    `"CustomerPostcode":"2000","CustomerState":"NSW","CustomerAddress":"${evalId % 300} Example Street","CustomerSuburb":"Sydney"}]`
  )
}

/** UpdatedAt as in the list and the body. */
export function updatedAt({ createdAt, revision }: BenchEvaluation): string {
  return new Date((createdAt + 1800 + revision) * 1000).toISOString()
}

function photoText(id: number, position: number, signature: number): string {
  const url = `https://photos.example.com/vehicles/${id}/large.jpg?X-Signature=${signature.toString(16).padStart(64, '0')}`
  const isHero = position === 1
  return `{"id":${id},"url":"${url}","order":${position},"hero":${isHero},"heroSource":${isHero ? '"auto"' : null},"angle":"angle ${position}"}`
}

function list(count: number, text: (position: number) => string): string {
  return Array.from({ length: count }, (_, at) => text(at + 1)).join(',')
}
