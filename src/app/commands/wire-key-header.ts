import type { z } from 'zod'
import { listUsers } from '../../api/contract/appraisal/evaluations.ts'
import type { Operation } from '../../api/contract/operation.ts'
import type { PlannedCalls } from '../../api/learn/collect.ts'
import { openServices } from '../../api/sources/open-services.ts'
import { SyncError } from '../../errors.ts'
import type { Config, RooftopConfig } from '../config/read.ts'
import type { Session } from './session.ts'

/** A header that may carry the key, and the text before it. */
interface KeyForm {
  readonly authHeader: string
  readonly authPrefix: string
}

const knownForms: readonly KeyForm[] = [
  { authHeader: 'Authorization', authPrefix: '' },
  { authHeader: 'Authorization', authPrefix: 'Bearer ' },
  { authHeader: 'X-API-Key', authPrefix: '' },
  { authHeader: 'Authorization', authPrefix: 'ApiKey ' },
  { authHeader: 'api-key', authPrefix: '' },
  { authHeader: 'Ocp-Apim-Subscription-Key', authPrefix: '' },
]

/** What `findKeyForm` may call. */
export const keyFormCalls: readonly PlannedCalls[] = [
  { operation: listUsers, most: knownForms.length + 1, why: 'which header carries the key' },
]

/** How the service took the key. */
interface FoundForm extends KeyForm {
  readonly calls: number
  /** false: it took a wrong key in the same form too, so that the form proves nothing. */
  readonly isProved: boolean
}

/**
 * Sends the key of a rooftop in the known forms, the configured one first, on one free read of the configured host, until the service takes
 * it; then a wrong key in that form. null: it takes none of them.
 */
export async function findKeyForm(
  session: Session,
  rooftop: RooftopConfig,
): Promise<FoundForm | null> {
  const { config } = session
  const { authHeader, authPrefix } = config.wire.appraisal
  const configured = { authHeader, authPrefix }
  const others = knownForms.filter((form) => formText(form) !== formText(configured))
  const forms = [configured, ...others].slice(0, knownForms.length)
  for (const [at, form] of forms.entries()) {
    if (!(await isTaken(session, rooftop, form, config))) continue
    const key = config.keys[rooftop.key]!
    const wrong = { ...key, value: `${key.value.slice(0, -1)}${key.value.endsWith('0') ? 1 : 0}` }
    const keys = { ...config.keys, [rooftop.key]: wrong }
    const isProved = !(await isTaken(session, rooftop, form, { ...config, keys }))
    return { ...form, calls: at + 2, isProved }
  }
  return null
}

/** A header as it is sent, without the key. */
export function formText({ authHeader, authPrefix }: KeyForm): string {
  return `${authHeader}: ${authPrefix}<key>`
}

/** Whether the service answers. A call is not repeated: a service may lock a key that is refused often. */
async function isTaken(
  { log, io }: Session,
  { uid, dealerId, key: keyName }: RooftopConfig,
  form: KeyForm,
  config: Config,
): Promise<boolean> {
  const wire = { ...config.wire, appraisal: { ...config.wire.appraisal, ...form } }
  const http = { ...config.http, maxRetries: 0 }
  await using services = openServices({ ...config, http, wire }, log, ['read'])
  try {
    await services.client.call(listUsers as Operation<'read', z.ZodRawShape>, {
      ...{ fields: {}, rooftop: { uid, dealerId, keyName }, signal: io.signal },
    })
    return true
  } catch (error) {
    if (error instanceof SyncError && [400, 401, 403, 404].includes(error.status ?? 0)) return false
    throw error
  }
}
