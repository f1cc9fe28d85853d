import { send } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { SheetSection } from '../../components/sheet.tsx'
import { useAction } from '../../components/use-action.ts'
import { SSO_PATH } from './queries.ts'

/** Links the identity of a member at the identity provider to their own account. */
export function LinkSection() {
  const withRecentSignIn = useRecentSignIn()
  const link = useAction(async () => {
    const { redirect } = await withRecentSignIn(() =>
      send<{ redirect: string }>('POST', `${SSO_PATH}/link`),
    )
    location.assign(redirect)
  })
  return (
    <SheetSection
      title="Your account"
      lead="If the organisation has an identity provider, link your identity there to your own account. Otherwise, signing in there creates a second account for you."
    >
      <p className="text-pretty">
        You keep your passkeys. If you sign in at the identity provider, you can act for this
        organisation only.
      </p>
      <Button className="self-start" pending={link.pending} onClick={link.run}>
        Link my account
      </Button>
      <ErrorNote error={link.error} />
    </SheetSection>
  )
}
