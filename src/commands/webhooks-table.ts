import type { ListedSubscription, SubscriptionPlan } from '../webhook/subscription-plan.ts'
import { table } from './table.ts'

/** What went wrong at a rooftop. */
export interface RooftopError {
  readonly error: string
}

/** Never the query: an address of others may hold a secret there. */
export function withoutQuery({ id, event, type, url }: ListedSubscription) {
  const parsed = URL.parse(url)
  return { id, event, type, url: parsed === null ? '?' : parsed.origin + parsed.pathname }
}

/** A plan as --json shows it. */
export function planDocument({
  create,
  update,
  remove: gone,
  unchanged: same,
  foreign,
}: SubscriptionPlan) {
  return {
    create: create.map(({ event, url }) => ({ event, url })),
    update: update.map(({ listed, wanted, why }) => ({
      ...withoutQuery(listed),
      to: wanted.url,
      why,
    })),
    delete: gone.map(({ listed, why }) => ({ ...withoutQuery(listed), why })),
    same: same.map(({ listed }) => withoutQuery(listed)),
    foreign: foreign.map(withoutQuery),
  }
}

/** A plan as --json shows it. */
export type PlanDocument = ReturnType<typeof planDocument>

/** Whether there is anything to do. */
export function hasChanges({ create, update, delete: gone }: PlanDocument): boolean {
  return create.length + update.length + gone.length > 0
}

/** The plans for a person, a line for each subscription. */
export function planTable(
  results: Readonly<Record<string, PlanDocument | RooftopError>>,
): string[] {
  const rows = Object.entries(results).flatMap(([uid, one]) => {
    if ('error' in one) return []
    return [
      ...one.create.map(({ event, url }) => [uid, 'create', '-', event, url, '']),
      ...one.update.map(({ id, event, to, why }) => [
        uid,
        'update',
        String(id),
        event ?? '-',
        to,
        why,
      ]),
      ...one.delete.map(({ id, event, url, why }) => [
        uid,
        'delete',
        String(id),
        event ?? '-',
        url,
        why,
      ]),
      ...one.same.map(({ id, event, url }) => [uid, 'same', String(id), event ?? '-', url, '']),
      ...one.foreign.map(({ id, event, url }) => [
        uid,
        'foreign',
        String(id),
        event ?? '-',
        url,
        '',
      ]),
    ]
  })
  return table(['rooftop', 'what', 'id', 'event', 'to', 'why'], rows)
}
