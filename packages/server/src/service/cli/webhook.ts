import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import {
  MAX_WEBHOOK_OVERLAP_HOURS,
  WEBHOOK_AUDIENCE_PATTERN,
  WEBHOOK_AUTHORIZATION_PATTERN,
  WEBHOOK_EVENT_TYPES,
  WEBHOOK_FORMATS,
  type Webhook,
  type WebhookEventType,
  type WebhookFormat,
} from '@countersign/protocol'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { assertSamePepper } from '../../accounts/identity/pepper-check.ts'
import type { Env } from '../../base/config.ts'
import { siteOf } from '../../base/site.ts'
import { VERSION } from '../../base/version.ts'
import { openSender } from '../../http/outbound/open-sender.ts'
import { openServiceKey } from '../../secrets/service-keys.ts'
import type { WebhookDeps } from '../../webhooks/manage-endpoints.ts'
import {
  changeEndpoint,
  createEndpoint,
  listEndpoints,
  removeEndpoint,
  rotateSecret,
} from '../../webhooks/manage-endpoints.ts'
import { withData } from './command-context.ts'
import { print, table } from './output.ts'

/** Not an owner's: the endpoint gets the events of all agents. */
const OPERATOR = null

export function webhookCommands(program: Command, env: Env): void {
  const webhook = program
    .command('webhook')
    .description('endpoints of yours that get the events of all agents')

  webhook
    .command('add')
    .description('add an endpoint, and print its secret once')
    .argument('<url>', 'an https URL')
    .option('--types <types>', 'only these event types, separated by commas', parseTypes)
    .addOption(
      new Option('--format <format>', 'what it receives')
        .choices([...WEBHOOK_FORMATS])
        .default('standard'),
    )
    .option(
      '--audience <audience>',
      'of the format set: the claim aud, by default the URL',
      parseAudience,
    )
    .option(
      '--authorization-file <path>',
      'of the formats ocsf and set: a file with the value of the header Authorization',
      readAuthorization,
    )
    .action((url: string, options: AddOptions, command: Command) => add(env, url, options, command))

  webhook
    .command('list')
    .description('list the endpoints')
    .action((_options: unknown, command: Command) => list(env, command))

  webhook
    .command('activate')
    .description('activate an endpoint that was disabled')
    .argument('<id>')
    .action(async (id: string, _options: unknown, command: Command) => {
      const changed = await withWebhooks(env, (deps) =>
        changeEndpoint(deps, OPERATOR, id, { state: 'active' }),
      )
      print(command, changed, `Activated ${id} (${changed.url}).`)
    })

  webhook
    .command('rotate-secret')
    .description('give an endpoint another secret, and print it once')
    .argument('<id>')
    .option(
      '--overlap <hours>',
      'how long deliveries are signed with the previous secret too; 0 if it has leaked',
      parseHours,
      24,
    )
    .action((id: string, options: { overlap: number }, command: Command) =>
      rotate(env, id, options.overlap, command),
    )

  webhook
    .command('remove')
    .description('remove an endpoint with its delivery log')
    .argument('<id>')
    .action(async (id: string, _options: unknown, command: Command) => {
      await withWebhooks(env, (deps) => removeEndpoint(deps, OPERATOR, id))
      print(command, { removed: id }, `Removed ${id}.`)
    })
}

interface AddOptions {
  readonly types?: WebhookEventType[]
  readonly format: WebhookFormat
  readonly audience?: string
  /** The content of the file. */
  readonly authorizationFile?: string
}

async function add(
  env: Env,
  url: string,
  { types, authorizationFile, ...options }: AddOptions,
  command: Command,
): Promise<void> {
  const authorization = authorizationFile ?? null
  const webhook = { url, eventTypes: types ?? null, authorization, ...options }
  const created = await withWebhooks(env, (deps) => createEndpoint(deps, OPERATOR, webhook))
  const added = `Added ${created.id} (${created.url}).`
  print(
    command,
    created,
    created.secret === null
      ? `${added}
The keys of /.well-known/jwks.json sign its Security Event Tokens.`
      : `${added}
Secret of the v1 signatures, shown this once: ${created.secret}
Public key of the v1a signatures: ${created.publicKey}`,
  )
}

async function rotate(env: Env, id: string, overlapHours: number, command: Command): Promise<void> {
  const rotated = await withWebhooks(env, (deps) =>
    rotateSecret(deps, OPERATOR, id, { overlapHours }),
  )
  const until = rotated.previousSecretUntil
  print(
    command,
    rotated,
    `New secret of ${id}, shown this once: ${rotated.secret}
${until === null ? 'The previous secret signs no more.' : `The previous secret signs too until ${until}.`}`,
  )
}

async function list(env: Env, command: Command): Promise<void> {
  const { webhooks, publicKey } = await withWebhooks(env, (deps) => listEndpoints(deps, OPERATOR))
  const rows = webhooks.map((each) => [
    each.id,
    each.url,
    each.format,
    stateOf(each),
    String(each.pending),
    each.lastDeliveredAt ?? 'never',
    each.eventTypes?.join(',') ?? 'all',
  ])
  const headings = ['ID', 'URL', 'FORMAT', 'STATE', 'WAITING', 'LAST DELIVERY', 'TYPES']
  print(
    command,
    { webhooks, publicKey },
    `${table(headings, rows)}\nPublic key of the v1a signatures: ${publicKey}`,
  )
}

function stateOf({ state, disabledReason, failingSince }: Webhook): string {
  if (state === 'disabled') return `disabled (${disabledReason})`
  return state === 'active' && failingSince !== null ? `failing since ${failingSince}` : state
}

function withWebhooks<T>(env: Env, work: (deps: WebhookDeps) => Promise<T>): Promise<T> {
  return withData(env, async ({ db, settings, pepper, now }) => {
    // The secrets are derived from it: with another one, the printed secret would verify nothing.
    await assertSamePepper({ db, pepper })
    const sender = openSender(settings, `Countersign/${VERSION} (+${settings.baseUrl.origin})`)
    try {
      const webhookKey = await openServiceKey({ db, folders: settings }, 'webhook')
      const site = siteOf(settings.naming, settings.baseUrl)
      return await work({ db, site, pepper, now, randomBytes, webhookKey, sender })
    } finally {
      await sender.close()
    }
  })
}

function parseHours(text: string): number {
  const hours = Number(text)
  if (/^\d{1,3}$/.test(text) && hours <= MAX_WEBHOOK_OVERLAP_HOURS) return hours
  throw new InvalidArgumentError(`It takes 0 to ${MAX_WEBHOOK_OVERLAP_HOURS} hours.`)
}

function parseAudience(text: string): string {
  if (WEBHOOK_AUDIENCE_PATTERN.test(text)) return text
  throw new InvalidArgumentError('It takes 1 to 300 printable ASCII characters.')
}

/** Not an argument, which other users of the machine can see. */
function readAuthorization(path: string): string {
  const value = readFileSync(path, 'utf8').trim()
  if (WEBHOOK_AUTHORIZATION_PATTERN.test(value)) return value
  throw new InvalidArgumentError(`${path} must hold 1 to 1,000 printable ASCII characters.`)
}

function parseTypes(text: string): WebhookEventType[] {
  return [...new Set(text.split(','))].map((name) => {
    const type = WEBHOOK_EVENT_TYPES.find((each) => each === name)
    if (type !== undefined) return type
    throw new InvalidArgumentError(`${name} is not one of ${WEBHOOK_EVENT_TYPES.join(', ')}.`)
  })
}
