// One JSON record per test, for git-paw.
export default async function* report(source) {
  const names = [];
  const words = new Map();
  for await (const { type, data } of source) {
    if (type === 'test:stderr' || type === 'test:stdout') {
      words.set(data.file, ((words.get(data.file) ?? '') + data.message).slice(-8000));
    } else if (type === 'test:start') {
      names.length = data.nesting;
      names[data.nesting] = data.name;
    } else if (type === 'test:pass' || type === 'test:fail') {
      const error = data.details?.error;
      const parents = names.slice(0, data.nesting);
      yield JSON.stringify({
        name: [...parents, data.name].join(' > '),
        file: data.file ?? null,
        ok: type === 'test:pass',
        skipped: data.skip !== undefined || data.todo !== undefined,
        suite: data.details?.type === 'suite',
        // The process of a whole file ended badly: none of its tests could say so.
        crashed: error?.exitCode !== undefined,
        failure: error?.failureType ?? null,
        message: String(error?.cause?.stack ?? error?.cause ?? error?.message ?? ''),
        said: words.get(data.file ?? data.name) ?? '',
      }) + '\n';
    }
  }
}
