import { randomBytes } from 'node:crypto'
import { type Assurance, isLoopback } from '@countersign/protocol'
import { DEVELOPMENT_LABELS, type DevelopmentProvider } from '../../identity-of-owner.ts'
import type { IdentityProvider } from '../provider.ts'
import { startDevelopmentServer } from './development-server.ts'

const DAY_MS = 86_400_000

interface Development {
  readonly id: DevelopmentProvider
  readonly assurance: Assurance
  readonly signIn: boolean
  readonly validForDays: number
  readonly for: 'person' | 'organisation'
}

/** Providers for a developer's machine: one for each assurance level of persons, and one for organisations. */
export const DEVELOPMENT: readonly Development[] = [
  {
    id: 'dev-low',
    assurance: 'low',
    signIn: true,
    validForDays: 30,
    for: 'person',
  },
  {
    id: 'dev-substantial',
    assurance: 'substantial',
    signIn: false,
    validForDays: 365,
    for: 'person',
  },
  {
    id: 'dev-high',
    assurance: 'high',
    signIn: false,
    validForDays: 730,
    for: 'person',
  },
  {
    id: 'dev-organisation',
    assurance: 'substantial',
    signIn: false,
    validForDays: 365,
    for: 'organisation',
  },
]

const CLIENT_ID = 'countersign'

/** A running provider, and the service's client secret there. */
export interface RunningProvider {
  readonly issuer: string
  readonly clientSecret: string
  close(): Promise<void>
}

/** Starts a development provider, or returns it if it is running. */
export type StartProvider = (id: string) => Promise<RunningProvider>

/** OpenID Connect providers on loopback with their state in memory. Each starts on first use. */
export class DevelopmentProviders {
  readonly all: readonly IdentityProvider[]
  readonly #start: StartProvider
  readonly #started: Promise<RunningProvider>[] = []
  #closed = false

  /**
   * @param baseUrl the service's own URL
   * @param start by default, starts the provider in this process
   * @throws Error if `baseUrl` is not on loopback, because anyone can sign in under any name
   */
  constructor(baseUrl: URL, start: StartProvider = (id) => startDevelopmentProvider(id, baseUrl)) {
    if (!isLoopback(baseUrl.hostname)) {
      throw new Error('Providers for development exist on loopback only.')
    }
    this.#start = start
    this.all = DEVELOPMENT.map((each) => this.#provider(each))
  }

  async close(): Promise<void> {
    this.#closed = true
    const servers = await Promise.allSettled(this.#started)
    await Promise.all(servers.map((each) => each.status === 'fulfilled' && each.value.close()))
  }

  #provider(development: Development): IdentityProvider {
    const { id, assurance, signIn, validForDays, for: verified } = development
    let starting: Promise<IdentityProvider> | null = null
    const started = () => {
      starting ??= this.#open(development)
      return starting
    }
    return {
      id,
      label: DEVELOPMENT_LABELS[id],
      kind: 'development',
      for: verified,
      assurance,
      unique: true,
      verifiesName: assurance !== 'low',
      proves: 'Nothing. A development provider that accepts any name.',
      validForMs: validForDays * DAY_MS,
      signIn,
      selfService: true,
      begin: async (context) => (await started()).begin(context),
      complete: async (context, input, state) => (await started()).complete(context, input, state),
      check: async () => (await started()).check(),
    }
  }

  async #open(development: Development): Promise<IdentityProvider> {
    if (this.#closed) throw new Error('The providers for development have ended.')
    const { id, assurance, for: verified } = development
    const label = DEVELOPMENT_LABELS[id]
    const running = this.#start(id)
    this.#started.push(running)
    const { issuer, clientSecret } = await running
    const { oidcProvider } = await import('../oidc.ts')
    return oidcProvider(
      {
        id,
        type: 'oidc',
        issuer,
        label,
        kind: 'eid',
        for: verified,
        // There, the name that a developer enters identifies the organisation.
        ...(verified === 'organisation' && { subjectClaim: 'sub' }),
        nameClaim: 'name',
        proves: label,
        assurance,
        acr: [acrOf(development)],
        clientId: CLIENT_ID,
        clientSecret: { env: 'SECRET' },
        // So that a developer can sign in as another person each time.
        prompt: 'login',
        maxAge: 300,
      },
      { SECRET: clientSecret },
    )
  }
}

/** Starts a development provider in this process. @throws Error if none has this id */
export async function startDevelopmentProvider(id: string, baseUrl: URL): Promise<RunningProvider> {
  const development = DEVELOPMENT.find((each) => each.id === id)
  if (development === undefined) throw new Error(`There is no provider for development ${id}.`)
  const client = { clientId: CLIENT_ID, clientSecret: randomBytes(32).toString('base64url') }
  const label = DEVELOPMENT_LABELS[development.id]
  const acr = acrOf(development)
  const server = await startDevelopmentServer({ id, label, acr, ...client, baseUrl })
  return { ...server, clientSecret: client.clientSecret }
}

function acrOf({ assurance }: Development): string {
  return `urn:countersign:development:${assurance}`
}
