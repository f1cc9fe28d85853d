import { CodedError } from '@countersign/protocol'
import type { Command } from 'commander'
import { EXIT } from '../cluster/exit-codes.ts'
import { readSettings } from '../config/config.ts'
import type { IdentityProvider, ProviderCheck } from '../providers/provider.ts'
import { print, table } from './output.ts'

const DAY_MS = 86_400_000

export function providerCommands(program: Command): void {
  const provider = program
    .command('provider')
    .description('identity providers, as IDENTITY_PROVIDERS has them')

  provider.command('list').description('list the identity providers').action(list)

  provider
    .command('check')
    .description('reach out to an identity provider and report what works')
    .argument('<id>')
    .action(check)
}

async function list(_options: unknown, command: Command): Promise<void> {
  const all = await withProviders(async (providers) => providers.map(describe))
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

async function check(id: string, _options: unknown, command: Command): Promise<void> {
  const checks = await withProviders(async (providers): Promise<readonly ProviderCheck[]> => {
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
  if (!ok) process.exitCode = EXIT.failure
}

async function withProviders<T>(
  work: (providers: readonly IdentityProvider[]) => Promise<T>,
): Promise<T> {
  // Their libraries are large; no other command needs them.
  const { openProviders } = await import('../providers/load-providers.ts')
  const providers = await openProviders(readSettings(process.env), process.env)
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
