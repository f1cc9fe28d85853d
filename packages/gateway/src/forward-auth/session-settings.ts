import { readFileSync } from 'node:fs'
import type { AgentSignIn, NonceStore, Registry } from '@countersign/sdk'
import { agentSignIn } from '@countersign/sdk'
import type { SessionReader } from '../options.ts'

/** The settings of the file that are about sessions. */
export interface SessionFields {
  readonly audiences: readonly string[]
  readonly sessionSecretVariable: string
  readonly sessionSecretFile: string
  readonly signInPath: string
}

/** Sessions of the site behind. */
export interface SessionSettings {
  readonly reader: SessionReader
  /** The sign-in endpoint that this command serves; null if the site serves its own. */
  readonly signIn: SignInSettings | null
}

export interface SignInSettings {
  readonly path: string
  /** By origin: each issues challenges and sessions for itself. */
  readonly sites: ReadonlyMap<string, AgentSignIn>
}

type Env = Readonly<Record<string, string | undefined>>

/**
 * @param nonces the challenges that were used
 * @returns undefined if sessions are not configured
 * @throws Error if a setting is missing, or the secret cannot be read or is too short
 */
export function readSessions(
  fields: SessionFields,
  registry: Registry,
  nonces: NonceStore,
  env: Env,
): SessionSettings | undefined {
  const { audiences, signInPath: path } = fields
  const secret = secretOf(fields, env)
  if (secret === null) {
    if (path === '') return undefined
    throw new Error('signInPath requires sessionSecretVariable or sessionSecretFile')
  }
  if (audiences.length === 0) throw new Error('sessions require audiences')
  const sites = new Map(
    audiences.map((audience) => [
      audience,
      agentSignIn({ registry, audience, secret, ...(path === '' ? {} : { nonces }) }),
    ]),
  )
  return { reader: readerOf(sites), signIn: path === '' ? null : { path, sites } }
}

function readerOf(sites: ReadonlyMap<string, AgentSignIn>): SessionReader {
  return {
    async session(token) {
      for (const [audience, site] of sites) {
        const session = await site.session(token)
        if (session !== null) return { ...session, audience }
      }
      return null
    },
  }
}

function secretOf(fields: SessionFields, env: Env): string | null {
  const { sessionSecretVariable: variable, sessionSecretFile: file } = fields
  if (variable !== '' && file !== '') {
    throw new Error('sessionSecretVariable and sessionSecretFile cannot be combined')
  }
  if (file !== '') return readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  if (variable === '') return null
  const secret = env[variable]
  if (!secret) throw new Error(`the environment variable ${variable} is not set`)
  return secret
}
