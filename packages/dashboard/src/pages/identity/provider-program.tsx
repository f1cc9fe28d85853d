import { lazy, Suspense } from 'react'
import type { useVerify } from './use-verify.ts'

interface ProviderProgramProps {
  readonly provider: string
  readonly label: string
  readonly verify: ReturnType<typeof useVerify>
}

/** Loaded on demand, because only World ID needs it. */
const WorldIdDialog = lazy(() => import('./world-id-dialog.tsx'))

/** Continues a verification that happens on this page instead of by redirect. */
export function ProviderProgram({ provider, label, verify }: ProviderProgramProps) {
  if (verify.client === null) return null
  return (
    <Suspense>
      <WorldIdDialog
        provider={provider}
        label={label}
        client={verify.client}
        onClose={verify.stop}
      />
    </Suspense>
  )
}
