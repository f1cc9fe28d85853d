import { get } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { saveFile } from '../../components/save-file.ts'
import { SheetSection } from '../../components/sheet.tsx'
import { useAction } from '../../components/use-action.ts'

/** Downloads the data that the service stores about the owner. */
export function ExportSection() {
  const download = useAction(async () => {
    const data = await get<object>('/api/account/export')
    saveFile('my-data.json', JSON.stringify(data, null, 2), 'application/json')
  })
  return (
    <SheetSection
      title="Your data"
      lead="All data that the service stores about you and your agents, as a JSON file without secrets."
    >
      <Button size="small" pending={download.pending} onClick={download.run} className="self-start">
        Download data
      </Button>
      <ErrorNote error={download.error} />
    </SheetSection>
  )
}
