import { randomBytes } from 'node:crypto'
import { type Assurance, isLoopback } from '@countersign/protocol'
import { oidcProvider } from '../oidc.ts'
import type { IdentityProvider } from '../provider.ts'
import { startDevelopmentServer } from './server.ts'

const DAY_MS = 86_400_000

interface Development {
  readonly id: string
  readonly assurance: Assurance
  readonly label: string
  readonly signIn: boolean
  readonly validForDays: number
}

/** What stands in for real providers on a developer's machine. */
export const DEVELOPMENT: readonly Development[] = [
  {
    id: 'dev-low',
    assurance: 'low',
    label: 'Development, low assurance',
    signIn: true,
    validForDays: 30,
  },
  {
    id: 'dev-substantial',
    assurance: 'substantial',
    label: 'Development, substantial assurance',
    signIn: false,
    validForDays: 365,
  },
  {
    id: 'dev-high',
    assurance: 'high',
    label: 'Development, high assurance',
    signIn: false,
    validForDays: 730,
  },
]

const CLIENT_ID = 'countersign'

/** A provider that runs, and the secret by which the service is its client. */
export interface RunningProvider {
  readonly issuer: string
  readonly clientSecret: string
  close(): Promise<void>
}

/** Starts one of the providers for development, or finds it running. */
export type StartProvider = (id: string) => Promise<RunningProvider>

/**
 * Real OpenID Connect providers on loopback, which keep in memory what is begun there; each starts when it is first
 * needed.
 */
export class DevelopmentProviders {
  readonly all: readonly IdentityProvider[]
  readonly #start: StartProvider
  readonly #started: Promise<RunningProvider>[] = []
  #closed = false

  /**
   * @param baseUrl where the service stands
   * @param start in this process, where nothing else is said
   * @throws Error where that is not loopback: anyone can be anyone there
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
    const { id, label, assurance, signIn, validForDays } = development
    let starting: Promise<IdentityProvider> | null = null
    const started = () => {
      starting ??= this.#open(development)
      return starting
    }
    return {
      id,
      label,
      kind: 'development',
      assurance,
      unique: true,
      proves: 'Nothing. It stands in for a real provider while you develop: any name will do.',
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
    const { id, label, assurance } = development
    const running = this.#start(id)
    this.#started.push(running)
    const { issuer, clientSecret } = await running
    return oidcProvider(
      {
        id,
        type: 'oidc',
        issuer,
        label,
        kind: 'social',
        proves: label,
        assurance,
        acr: [acrOf(development)],
        clientId: CLIENT_ID,
        clientSecret: { env: 'SECRET' },
        // So that somebody can be another person at every turn.
        prompt: 'login',
        maxAge: 300,
      },
      { SECRET: clientSecret },
    )
  }
}

/** Starts one of the providers for development in this process. @throws Error where there is none of that id */
export async function startDevelopmentProvider(id: string, baseUrl: URL): Promise<RunningProvider> {
  const development = DEVELOPMENT.find((each) => each.id === id)
  if (development === undefined) throw new Error(`There is no provider for development ${id}.`)
  const client = { clientId: CLIENT_ID, clientSecret: randomBytes(32).toString('base64url') }
  const { label } = development
  const acr = acrOf(development)
  const server = await startDevelopmentServer({ id, label, acr, ...client, baseUrl })
  return { ...server, clientSecret: client.clientSecret }
}

function acrOf({ assurance }: Development): string {
  return `urn:countersign:development:${assurance}`
}
