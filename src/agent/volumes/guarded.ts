/**
 * Script that a shell runs before it becomes restic, as root in its own mount namespace. Its arguments are an empty
 * folder on the host that becomes the root, the volume's folder, the path where restic sees it, `ro` or `rw`, the cache
 * folder, the program, and the program's arguments. In addition, the root contains read-only programs and libraries,
 * and the files needed to resolve names and verify certificates.
 */
export const GUARDED_SCRIPT = `set -eu
root=$1 volume=$2 at=$3 access=$4 cache=$5 program=$6
shift 6
mount -t tmpfs -o size=16m,mode=0755,nosuid,nodev tmpfs "$root"
mkdir -p "$root/old" "$root/cache" "$root/etc" "$root/proc" "$root$at"
for name in usr bin sbin lib lib32 lib64; do
  if [ -L "/$name" ]; then
    cp -P "/$name" "$root/$name"
  elif [ -d "/$name" ]; then
    mkdir "$root/$name"
    mount --bind "/$name" "$root/$name"
    mount -o remount,bind,ro,nosuid,nodev "$root/$name"
  fi
done
for name in resolv.conf hosts nsswitch.conf ld.so.cache; do
  if [ -f "/etc/$name" ]; then cat "/etc/$name" > "$root/etc/$name"; fi
done
for file in "\${OPERATOR_CERTIFICATES:-}" /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt \\
  /etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem /etc/ssl/ca-bundle.pem /etc/ssl/cert.pem; do
  if [ -f "$file" ]; then
    cat "$file" > "$root/etc/certificates.pem"
    export SSL_CERT_FILE=/etc/certificates.pem
    break
  fi
done
: > "$root/restic"
mount --bind "$program" "$root/restic"
mount -o remount,bind,ro,nosuid,nodev "$root/restic"
mount --bind "$cache" "$root/cache"
mount -o remount,bind,nosuid,nodev,noexec "$root/cache"
mount --bind "$volume" "$root$at"
mount -o "remount,bind,$access,nosuid,nodev" "$root$at"
mount -t proc proc "$root/proc"
cd "$root"
pivot_root . old
exec chroot . /bin/sh -c 'umount -l /old && umount -l /proc &&
  exec nice -n 10 ionice -c 2 -n 7 prlimit --data=2147483648 --core=0 /restic "$@"' restic "$@"
`;
