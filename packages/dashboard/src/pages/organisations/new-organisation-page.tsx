import type { CreatedOrganisation } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useService } from '../../agents/use-service.ts'
import { dashboardOf, loadPage } from '../../api/acting-for.ts'
import { send } from '../../api/client.ts'
import { identityQuery } from '../../api/queries.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { TextField } from '../../components/field.tsx'
import { Page, Section } from '../../components/page.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { useAction } from '../../components/use-action.ts'
import { displayNameError, usernameError } from '../../components/validate-names.ts'

/** Creates an organisation, of which the person is the first admin. */
export function NewOrganisationPage() {
  const { data, error, isPending, refetch } = useQuery(identityQuery)
  const isVerified = data?.verifications.some(({ expired }) => !expired)
  return (
    <Page
      title="Create an organisation"
      lead="Several people act for it, each with a role. Its agents stay when somebody leaves."
    >
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {isPending && (
        <>
          <Loading what="your verifications" />
          <Skeleton className="h-76 rounded-2xl" />
        </>
      )}
      {isVerified === false && (
        <Section
          title="Verify your own identity first"
          lead="Only people with a current identity verification create organisations."
        >
          <Link to="/identity" className={`self-start ${buttonClass('primary')}`}>
            Verify your identity
          </Link>
        </Section>
      )}
      {isVerified && <NewOrganisationForm />}
    </Page>
  )
}

function NewOrganisationForm() {
  const { shortName } = useService()
  const withRecentSignIn = useRecentSignIn()
  const [displayName, setDisplayName] = useState('')
  const [username, setUsername] = useState('')
  const [isSubmitted, setIsSubmitted] = useState(false)
  const nameError = displayNameError(displayName)
  const invalidUsername = usernameError(username, shortName)

  const create = useAction(async () => {
    setIsSubmitted(true)
    if (nameError !== null || invalidUsername !== null) return
    const created = await withRecentSignIn(() =>
      send<CreatedOrganisation>('POST', '/api/organisations', { username, displayName }),
    )
    await loadPage(`${dashboardOf(created.username)}/identity`)
  })

  return (
    <Section title="Names">
      <form
        noValidate
        onSubmit={submitHandler(create.run)}
        className="grid gap-x-6 gap-y-4 sm:grid-cols-2"
      >
        <TextField
          label="Name of the organisation"
          hint="Shown as self-declared until you verify the organisation, and beside its verification then."
          error={isSubmitted ? nameError : null}
          value={displayName}
          onChange={(event) => setDisplayName(event.target.value)}
          autoComplete="organization"
          maxLength={128}
          required
        />
        <TextField
          label="Username"
          hint="3 to 32 characters: a-z, 0-9 and -. Members name the organisation by it."
          error={isSubmitted ? invalidUsername : null}
          value={username}
          onChange={(event) => setUsername(event.target.value.toLowerCase())}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          maxLength={32}
          required
        />
        <ul className="flex list-disc flex-col gap-1.5 pl-5 text-pretty text-soft sm:col-span-2">
          <li>You become its first admin. Invite a second admin soon.</li>
          <li>It has an identity of its own. Your verifications do not count for it.</li>
          <li>Your agents stay in your own account.</li>
        </ul>
        <div className="flex flex-col items-start gap-4 sm:col-span-2">
          <ErrorNote error={create.error} />
          <Button type="submit" variant="primary" pending={create.pending}>
            Create the organisation
          </Button>
        </div>
      </form>
    </Section>
  )
}
