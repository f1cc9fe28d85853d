import { Section } from '../../components/page.tsx'

export function StoredData() {
  return (
    <Section title="What is kept of it" lead="The same with every provider.">
      <dl className="grid gap-x-10 gap-y-5 sm:grid-cols-2">
        <div>
          <dt className="font-medium">Kept</dt>
          <dd className="text-pretty text-soft">
            Which provider it was, how sure they are, the dates, the country where they name one,
            and a number calculated from what the provider calls you. The number cannot be turned
            back. It shows only that the same person has not come twice.
          </dd>
        </div>
        <div>
          <dt className="font-medium">Never kept</dt>
          <dd className="text-pretty text-soft">
            Your address or date of birth as the provider knows them, numbers and pictures of
            documents, and any key to your account there. Your name as the provider knows it is
            stored only if you publish it, and deleted when you stop.
          </dd>
        </div>
      </dl>
    </Section>
  )
}
