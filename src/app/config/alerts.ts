import { z } from 'zod'
import { amount, optionalText, orNull, reporter, url, whole } from './values.ts'

// Nothing that a mail header gives a meaning.
const address = z.string().regex(/^[^\s@<>,;:"\\]+@[^\s@<>,;:"\\]+$/, 'is not an e-mail address')

/** What a receiver of alerts is set to, with a name or as the one of `alerts.url`. */
const receiver = {
  url: orNull(url).describe('Gets one message by POST for each problem, and one when it is over'),
  format: z
    .enum(['json', 'slack', 'teams', 'google-chat', 'email'])
    .default('json')
    .describe('json, or as their webhooks expect it: slack, teams, google-chat; email: to `to`'),
  to: z
    .array(address)
    .default([])
    .describe('With format email: who gets it, each a mail of its own'),
  severity: z
    .enum(['warning', 'critical'])
    .default('warning')
    .describe('warning: every problem; critical: those alone'),
}

type Receiver = z.infer<z.ZodObject<typeof receiver>>

/** What is wrong between the settings of a receiver. */
function checkReceiver(
  { format, url: hook, to }: Receiver,
  isNamed: boolean,
  report: ReturnType<typeof reporter>,
): void {
  if (hook !== null && `${new URL(hook).username}${new URL(hook).password}` !== '')
    report('url', 'has a user or password before the host, which no webhook gets: remove them')
  if (format === 'email' && hook !== null)
    report('url', 'is for webhooks: remove it, as format is email')
  if (format === 'email' && to.length === 0)
    report('to', 'is empty: list who gets the e-mails, or choose another format')
  if (format !== 'email' && to.length > 0)
    report('to', `is for e-mails: remove it, or write format: email instead of ${format}`)
  if (format !== 'email' && hook === null && isNamed)
    report('url', 'is empty: set it, or remove this target')
}

const target = z
  .strictObject({
    name: z
      .string()
      .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, 'is not a name: write small letters, digits and dashes')
      .describe('A name of your own, which messages about it show'),
    ...receiver,
  })
  .superRefine((one, context) => checkReceiver(one, true, reporter(context)))

/** A receiver of alerts. */
export type AlertTarget = z.infer<typeof target>

const loopback = /^(localhost|127(\.\d+){3}|::1)$/

const smtp = z
  .strictObject({
    host: z.string().regex(/^[\w.:-]{1,255}$/, 'is not the name of a host'),
    port: whole(1, 65_535).default(587),
    security: z
      .enum(['starttls', 'tls', 'none'])
      .default('starttls')
      .describe('starttls: nothing is sent without it; tls: from the start, mostly port 465'),
    user: optionalText,
    password: optionalText.describe('Take it from the environment'),
    from: address.describe('The sender'),
  })
  .superRefine(({ host, security, user, password }, context) => {
    const report = reporter(context)
    if (user !== null && password === null)
      report('password', 'is missing: set it, as there is a user')
    if (user !== null && security === 'none' && !loopback.test(host))
      report('security', 'is none, which shows the password: write starttls or tls')
  })

/** The name of the receiver that `alerts.url` or `alerts.to` is. */
const defaultTarget = 'default'

/** Who gets alerts. */
export const alertSettings = z
  .strictObject({
    ...receiver,
    afterMinutes: amount(0, 1440)
      .default(5)
      .describe('Minutes that a problem must last before it is reported'),
    targets: z
      .array(target)
      .default([])
      .describe('More receivers: each has a name and the settings above, except afterMinutes'),
    smtp: orNull(smtp).describe('The mail server of format email'),
  })
  .superRefine((alerts, context) => {
    const report = reporter(context)
    checkReceiver(alerts, false, report)
    const names = alerts.targets.map(({ name }) => name)
    for (const [index, name] of names.entries()) {
      if (name === defaultTarget)
        reporter(context, 'targets', index)('name', 'is that of alerts.url: choose another')
      if (names.indexOf(name) < index)
        reporter(context, 'targets', index)('name', 'is listed twice: give each its own')
    }
    if (alerts.smtp === null && [alerts, ...alerts.targets].some((one) => one.format === 'email'))
      report('smtp', 'is missing: format email needs a mail server')
  })
  .prefault({})

/** `alerts` of the config. */
export type AlertSettings = z.infer<typeof alertSettings>

/** Every receiver of the config. */
export function alertTargets({ targets, ...settings }: AlertSettings): readonly AlertTarget[] {
  const { afterMinutes: _, smtp: _smtp, ...first } = settings
  const isSet = first.url !== null || first.to.length > 0
  return isSet ? [{ name: defaultTarget, ...first }, ...targets] : targets
}
