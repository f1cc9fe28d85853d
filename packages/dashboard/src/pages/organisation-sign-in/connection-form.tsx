import type {
  SsoConnection,
  SsoConnectionRequest,
  SsoConnectionResult,
} from '@countersign/protocol'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote, Note } from '../../components/error-note.tsx'
import { CheckField, SelectField, TextField } from '../../components/field.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { connectionQuery, SSO_PATH } from './queries.ts'
import { type GroupRole, RoleMapFields, roleMapError, roleMapOf } from './role-map-fields.tsx'

interface ConnectionFormProps {
  /** The present one; null: none. */
  readonly connection: SsoConnection | null
  readonly onSaved: (checks: SsoConnectionResult['checks']) => void
  /** Null: there is nothing to go back to. */
  readonly onCancel: (() => void) | null
}

/** The settings of the identity provider. The service checks them before it stores them. */
export function ConnectionForm({ connection, onSaved, onCancel }: ConnectionFormProps) {
  const [issuer, setIssuer] = useState(connection?.issuer ?? '')
  const [clientId, setClientId] = useState(connection?.clientId ?? '')
  const [secret, setSecret] = useState('')
  const [isPublic, setPublic] = useState(connection?.hasSecret === false)
  const [groupClaim, setGroupClaim] = useState(connection?.groupClaim ?? 'groups')
  const [subjectClaim, setSubjectClaim] = useState(connection?.subjectClaim ?? 'sub')
  const [groups, setGroups] = useState<readonly GroupRole[]>(
    Object.entries(connection?.roleMap ?? {}).map(([group, role], key) => ({ key, group, role })),
  )
  const [isSubmitted, setSubmitted] = useState(false)

  const isSame = connection?.issuer === issuer.trim() && connection.clientId === clientId.trim()
  const keepsSecret = isSame && connection.hasSecret && secret === '' && !isPublic
  const secretError =
    isPublic || keepsSecret || secret !== '' ? null : 'Enter the secret, or choose a public client.'
  const groupsError = roleMapError(groups)

  const queries = useQueryClient()
  const withRecentSignIn = useRecentSignIn()
  const save = useAction(async () => {
    setSubmitted(true)
    if (secretError !== null || groupsError !== null) return
    const body: SsoConnectionRequest = {
      issuer: issuer.trim(),
      clientId: clientId.trim(),
      groupClaim: groupClaim.trim(),
      subjectClaim,
      roleMap: roleMapOf(groups),
      ...(!keepsSecret && { clientSecret: isPublic ? null : secret }),
    }
    const { checks, ...stored } = await withRecentSignIn(() =>
      send<SsoConnectionResult>('PUT', SSO_PATH, body),
    )
    queries.setQueryData(connectionQuery.queryKey, { connection: stored })
    onSaved(checks)
    // Memberships and tokens of another connection have ended.
    void queries.invalidateQueries()
    toast('The identity provider is connected.')
  })

  return (
    <form onSubmit={submitHandler(save.run)} className="flex flex-col gap-4">
      <TextField
        label="Issuer"
        type="url"
        hint="As in its discovery document, such as https://login.example.com."
        value={issuer}
        onChange={({ target }) => setIssuer(target.value)}
        autoComplete="off"
        maxLength={512}
        required
      />
      <TextField
        label="Client ID"
        value={clientId}
        onChange={({ target }) => setClientId(target.value)}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={512}
        required
      />
      {connection !== null && !isSame && (
        <Note tone="warn">
          <p>
            Another issuer or client is another connection. Links of members to the present one,
            their sessions, and memberships that depend on it end. You get another redirect URI.
          </p>
        </Note>
      )}
      {!isPublic && (
        <TextField
          label="Client secret"
          type="password"
          hint={
            isSame && connection.hasSecret
              ? 'Leave it empty to keep the stored one.'
              : 'It is stored encrypted and never shown again.'
          }
          error={isSubmitted ? secretError : null}
          value={secret}
          onChange={({ target }) => setSecret(target.value)}
          autoComplete="new-password"
          maxLength={1024}
        />
      )}
      <CheckField
        label="Public client, without a secret"
        checked={isPublic}
        onChange={({ target }) => setPublic(target.checked)}
      />
      <div className="grid gap-4 @xl:grid-cols-2">
        <TextField
          label="Group claim"
          hint="The claim of the ID token with the groups."
          value={groupClaim}
          onChange={({ target }) => setGroupClaim(target.value)}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          maxLength={256}
          required
        />
        <SelectField
          label="Subject claim"
          hint="The claim that is the externalId in SCIM: oid for Microsoft Entra, otherwise sub."
          value={subjectClaim}
          onChange={({ target }) => setSubjectClaim(target.value === 'oid' ? 'oid' : 'sub')}
        >
          <option>sub</option>
          <option>oid</option>
        </SelectField>
      </div>
      <RoleMapFields
        groups={groups}
        error={isSubmitted ? groupsError : null}
        onChange={setGroups}
      />
      {connection === null && (
        <p className="text-pretty text-soft text-sm">
          You get the redirect URI to register at the identity provider next.
        </p>
      )}
      <ErrorNote error={save.error} />
      <div className="flex flex-wrap gap-3">
        <Button type="submit" variant="primary" pending={save.pending}>
          {connection === null ? 'Connect the identity provider' : 'Check and save'}
        </Button>
        {onCancel !== null && <Button onClick={onCancel}>Cancel</Button>}
      </div>
    </form>
  )
}
