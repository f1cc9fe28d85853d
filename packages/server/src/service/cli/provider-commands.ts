import { CodedError } from '@countersign/protocol'
import type { Command } from 'commander'
import type { IdentityProvider, ProviderCheck } from '../../accounts/providers/provider.ts'
import { type Env, readSettings } from '../../base/config.ts'
import { print, ReportedFailure, table } from './output.ts'

const DAY_MS = 86_400_000

export function providerCommands(program: Command, env: Env): void {
  const provider = program
    .command('provider')
    .description('identity providers of IDENTITY_PROVIDERS')

  provider
    .command('list')
    .description('list the identity providers')
    .action((_options: unknown, command: Command) => list(env, command))

  provider
    .command('check')
    .description('test the connection to an identity provider')
    .argument('<id>')
    .action((id: string, _options: unknown, command: Command) => check(env, id, command))
}

async function list(env: Env, command: Command): Promise<void> {
  const all = await withProviders(env, async (providers) => providers.map(describe))
  const rows = all.map((each) => [
    each.id,
    each.label,
    each.kind,
    each.assurance ?? 'varies',
    each.validForDays === null ? 'for good' : `${each.validForDays} days`,
    each.signIn ? 'yes' : 'no',
  ])
  print(command, all, table(['ID', 'LABEL', 'KIND', 'ASSURANCE', 'VALID', 'SIGN-IN'], rows))
}

async function check(env: Env, id: string, command: Command): Promise<void> {
  const checks = await withProviders(env, async (providers): Promise<readonly ProviderCheck[]> => {
    const provider = providers.find((each) => each.id === id)
    if (provider !== undefined) return provider.check()
    throw new CodedError(
      'NOT_FOUND',
      `There is no identity provider ${id}. See: countersignd provider list`,
    )
  })
  const ok = checks.every((each) => each.ok)
  const rows = checks.map((each) => [each.ok ? 'ok' : 'FAILED', each.name, each.detail])
  print(command, { provider: id, ok, checks }, table(['', 'WHAT', 'FOUND'], rows))
  if (!ok) throw new ReportedFailure()
}

async function withProviders<T>(
  env: Env,
  work: (providers: readonly IdentityProvider[]) => Promise<T>,
): Promise<T> {
  // Imported on demand: the libraries are large, and no other command needs them.
  const { openProviders } = await import('../../accounts/providers/load-providers.ts')
  const providers = await openProviders(readSettings(env), env)
  try {
    return await work(providers.all)
  } finally {
    await providers.close()
  }
}

function describe({ id, label, kind, assurance, validForMs, signIn }: IdentityProvider) {
  const validForDays = validForMs === null ? null : Math.round(validForMs / DAY_MS)
  return { id, label, kind, assurance, validForDays, signIn }
}
