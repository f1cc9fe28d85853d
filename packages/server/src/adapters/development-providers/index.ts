import { randomBytes } from 'node:crypto'
import { type Assurance, isLoopback } from '@countersign/protocol'
import { oidcProvider } from '../identity-providers/oidc.ts'
import type { IdentityProvider } from '../identity-providers/provider.ts'
import { type DevelopmentServer, startDevelopmentServer } from './server.ts'

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

/** Real OpenID Connect providers in this process, on loopback; each starts when it is first needed. */
export class DevelopmentProviders {
  readonly all: readonly IdentityProvider[]
  readonly #started: Promise<DevelopmentServer>[] = []
  #closed = false

  /**
   * @param baseUrl where the service stands
   * @throws Error where that is not loopback: anyone can be anyone there
   */
  constructor(baseUrl: URL) {
    if (!isLoopback(baseUrl.hostname)) {
      throw new Error('Providers for development exist on loopback only.')
    }
    this.all = DEVELOPMENT.map((each) => this.#provider(each, baseUrl))
  }

  async close(): Promise<void> {
    this.#closed = true
    const servers = await Promise.allSettled(this.#started)
    await Promise.all(servers.map((each) => each.status === 'fulfilled' && each.value.close()))
  }

  #provider(development: Development, baseUrl: URL): IdentityProvider {
    const { id, label, assurance, signIn, validForDays } = development
    let starting: Promise<IdentityProvider> | null = null
    const started = () => {
      starting ??= this.#start(development, baseUrl)
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

  async #start({ id, label, assurance }: Development, baseUrl: URL): Promise<IdentityProvider> {
    if (this.#closed) throw new Error('The providers for development have ended.')
    const acr = `urn:countersign:development:${assurance}`
    const clientId = 'countersign'
    const clientSecret = randomBytes(32).toString('base64url')
    const server = startDevelopmentServer({ id, label, acr, clientId, clientSecret, baseUrl })
    this.#started.push(server)
    const { issuer } = await server
    return oidcProvider(
      {
        id,
        type: 'oidc',
        issuer,
        label,
        kind: 'social',
        proves: label,
        assurance,
        acr: [acr],
        clientId,
        clientSecret: { env: 'SECRET' },
        // So that somebody can be another person at every turn.
        prompt: 'login',
        maxAge: 300,
      },
      { SECRET: clientSecret },
    )
  }
}
