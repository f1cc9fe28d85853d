import type { SessionState } from '@countersign/protocol'
import { useState } from 'react'
import { send } from '../api/client.ts'
import { Button } from './button.tsx'
import { ErrorNote } from './error-note.tsx'
import { useAction } from './use-action.ts'

interface SignInProvidersProps {
  readonly providers: SessionState['signInProviders']
  /** The text before the provider's name: `Sign in with`. */
  readonly verb: string
  readonly note?: string
}

/** A button for each sign-in provider that the operator configured. */
export function SignInProviders({ providers, verb, note }: SignInProvidersProps) {
  const [chosen, setChosen] = useState('')
  const go = useAction(async (provider: string) => {
    setChosen(provider)
    const { redirect } = await send<{ redirect: string }>('POST', '/api/sign-in/provider', {
      provider,
    })
    location.assign(redirect)
  })

  if (providers.length === 0) return null
  return (
    <div className="flex flex-col gap-3">
      {providers.map(({ id, label }) => (
        <Button key={id} pending={go.pending && chosen === id} onClick={() => go.run(id)}>
          {verb} {label}
        </Button>
      ))}
      {note && <p className="text-soft text-sm">{note}</p>}
      <ErrorNote error={go.error} />
    </div>
  )
}
