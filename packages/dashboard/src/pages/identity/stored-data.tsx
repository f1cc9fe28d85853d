import { Section } from '../../components/page.tsx'

export function StoredData() {
  return (
    <Section title="Stored data" lead="The same for every provider.">
      <dl className="grid gap-x-10 gap-y-5 sm:grid-cols-2">
        <div>
          <dt className="font-medium">Stored</dt>
          <dd className="text-pretty text-soft">
            The provider, the assurance level, the dates, the country if the provider names one, and
            a one-way hash of your identifier at the provider. The hash only prevents that one
            person verifies two accounts.
          </dd>
        </div>
        <div>
          <dt className="font-medium">Never stored</dt>
          <dd className="text-pretty text-soft">
            Your address, your date of birth, document numbers, document pictures, and access tokens
            for your account there. Your verified name is stored only if you publish it, and deleted
            when you stop.
          </dd>
        </div>
      </dl>
    </Section>
  )
}
