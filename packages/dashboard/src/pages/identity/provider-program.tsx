import { lazy, Suspense } from 'react'
import type { useVerify } from './use-verify.ts'

interface ProviderProgramProps {
  readonly provider: string
  readonly label: string
  readonly verify: ReturnType<typeof useVerify>
}

/** World ID is the one provider with a program of its own in this page. Nobody else loads it. */
const WorldIdDialog = lazy(() => import('./world-id-dialog.tsx'))

/** Goes on where a provider does not take over the window. */
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
