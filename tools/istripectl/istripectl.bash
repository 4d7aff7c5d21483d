# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Completion of istripectl for bash. Volumes and settings are those that the
# tree of the module has; before there is a volume, the usual ones.

_istripectl_tree=/sys/kernel/config/istripe
_istripectl_conf=/etc/istripe

# Leaves of COMPREPLY what begins with $1, and puts $2 before it. Anybody may have chosen a name:
# compgen -W, and the shell afterwards, would execute $(...) in one.
_istripectl_take() {
	local word=$1 before=$2 one
	local -a all=("${COMPREPLY[@]}")

	COMPREPLY=()
	for one in "${all[@]}"; do
		[[ $one != *[!A-Za-z0-9_.:/=@,+~%-]* ]] || printf -v one %q "$one"
		[[ $one != "$word"* ]] || COMPREPLY+=("$before$one")
	done
}

# $1: the word, $2: what is before it in its list, $3: the words that it may be
_istripectl_offer() {
	read -r -d '' -a COMPREPLY <<<"$3"
	_istripectl_take "$1" "$2"
}

# The file of a secret: $1: the word, behind its @, $2: what is before that
_istripectl_secret() {
	mapfile -t COMPREPLY < <(compgen -f -- "$1")
	_istripectl_take "$1" "$2"
}

# The folders in one of the tree: volumes, the numbers of a volume's legs or of a leg's paths.
_istripectl_folders() {
	local dir

	for dir in "$_istripectl_tree${1:+/$1}"/*/; do
		[ -d "$dir" ] && basename "$dir"
	done
}

# Volumes that have a configuration file.
_istripectl_files() {
	local file

	for file in "$_istripectl_conf"/*.conf; do
		[ -f "$file" ] && basename "$file" .conf
	done
}

# Each once, configured or not.
_istripectl_volumes() {
	{ _istripectl_folders; _istripectl_files; } | sort -u
}

# $1: pattern of directories of one kind, $2: what they have when there is none
_istripectl_settings() {
	local dir file name

	for dir in "$_istripectl_tree"/$1; do
		[ -d "$dir" ] || continue
		for file in "$dir"/*; do
			name=${file##*/}
			case $name in
			enable | device | last_error | unfenced) ;;
			*) [ ! -f "$file" ] || echo "$name=" ;;
			esac
		done
		return
	done
	# shellcheck disable=SC2086 # many words
	printf '%s=\n' $2
}

# A caller may have more of them.
_istripectl_path_settings() {
	echo "target= ${more:-}"
	_istripectl_settings '*/legs/0/paths/0' \
		'portal lun nic source_address isid weight connections multi chap_user chap_secret
		header_digest data_digest login_timeout ping_interval ping_timeout dscp priority congestion_control send_buffer_bytes receive_buffer_bytes user_timeout'
}

# The values of a setting that has few: $1: its name.
_istripectl_choices() {
	case $1 in
	metadata) echo none md ;;
	metadata_create) echo 0 1 force ;;
	host_disks) echo refuse claim ;;
	policy) echo interleave round-robin queue-depth service-time failover weighted ;;
	fence) echo auto session path ;;
	alua) echo on off ;;
	multi) echo auto sessions mcs ;;
	initial_r2t | immediate_data) echo Yes No ;;
	from_node) echo yes no ;;
	header_digest | data_digest) echo None CRC32C ;;
	chap_algorithms) echo SHA3-256 SHA256 SHA1 MD5 ;;
	congestion_control) cat /proc/sys/net/ipv4/tcp_available_congestion_control ;;
	nic) ls /sys/class/net ;;
	source | source_address) hostname -I 2>/dev/null ;;
	target | target_name) cat "$_istripectl_tree"/*/legs/*/paths/*/target_name 2>/dev/null ;;
	chunk | chunk_bytes) echo 4K 16K 64K 256K 1M 4M ;;
	esac
}

# The last entry of a list: $1 is the list, $2 the names that may be in it.
_istripectl_list() {
	local last=${1##*,} before=

	[ "$1" = "$last" ] || before=${1%,*},
	case $last in
	*secret=@*) _istripectl_secret "${last#*@}" "$before${last%%@*}@" ;;
	*=*)
		_istripectl_offer "${last#*=}" "$before${last%%=*}=" "$(_istripectl_choices "${last%%=*}")"
		;;
	*) _istripectl_offer "$last" "$before" "$2" ;;
	esac
	compopt -o nospace
}

# Bash cuts words at '=' and ':': what was typed up to the cursor is put together
# again, and what bash has already behind it is taken off the replies.
_istripectl_word() {
	local line=${COMP_LINE:0:COMP_POINT}

	word=${line##*[[:space:]]}
}

_istripectl_trim() {
	local typed=$1 kept=${COMP_WORDS[COMP_CWORD]} i

	case $kept in
	'=' | ':') kept= ;;
	esac
	# An @ begins another of COMP_WORDS, but is of the word that a reply replaces.
	[[ $typed != *"@$kept" ]] || kept=@$kept
	[ "$typed" != "$kept" ] || return
	for i in "${!COMPREPLY[@]}"; do
		COMPREPLY[i]=${COMPREPLY[i]#"${typed%"$kept"}"}
	done
}

# The last of names with commas between them: $1: the list, $2: the names that may be in it
_istripectl_names() {
	local last=${1##*,} before=

	[ "$1" = "$last" ] || before=${1%,*},
	_istripectl_offer "$last" "$before" "$2"
}

_istripectl_chap() {
	local last=${1##*,} before=

	[ "$1" = "$last" ] || before=${1%,*},
	case $last in
	*secret=@*) _istripectl_secret "${last#*@}" "$before${last%%@*}@" ;;
	*) _istripectl_names "$1" 'user= secret=@ mutual_user= mutual_secret=@' ;;
	esac
	compopt -o nospace
}

# $1: the word, $2: the one before it
_istripectl_discover() {
	local word=$1 options='--chap --nic --luns --json --help'

	case $2 in
	--chap)
		_istripectl_chap "$word"
		_istripectl_trim "$word"
		return
		;;
	--nic) options=$(ls /sys/class/net) ;;
	esac
	_istripectl_offer "$word" '' "$options"
}

_istripectl_import() {
	local more=from_node=

	case $2 in
	--leg | -l | --path | -p | --all-paths | -a | --set | -s | --metadata | -m | --chunk | -c | \
		--initiator | -i)
		_istripectl_create "$1" "$2" ''
		_istripectl_trim "$1"
		;;
	*)
		_istripectl_offer "$1" '' "--leg --path --initiator --chunk --metadata --set --all-paths
			--save --boot --dry-run --take-over --once --table --help"
		;;
	esac
}

# $1: the word, $2: what is before it, $3: further options
_istripectl_create() {
	local word=$1 option=$2

	case $option in
	--leg | -l)
		_istripectl_list "$word" "$(_istripectl_path_settings
			_istripectl_settings '*/legs/0' 'designator policy fence alua')"
		;;
	--path | -p | --all-paths | -a) _istripectl_list "$word" "$(_istripectl_path_settings)" ;;
	--set | -s)
		_istripectl_list "$word" "$(_istripectl_settings '*' \
			'chunk_bytes metadata host_disks queue_depth poll_queues command_timeout_ms
			recovery_timeout_ms')"
		;;
	--metadata | -m) _istripectl_offer "$word" '' "$(_istripectl_choices metadata)" ;;
	--chunk | -c) _istripectl_offer "$word" '' "$(_istripectl_choices chunk)" ;;
	--initiator | -i | --discover | --targets | --luns) ;;
	--nics) _istripectl_names "$word" "$(ls /sys/class/net)" ;;
	--chap) _istripectl_chap "$word" ;;
	--wait) _istripectl_offer "$word" '' '30 5min forever' ;;
	*)
		_istripectl_offer "$word" '' "--initiator --chunk --metadata --set --all-paths
			--leg --path --no-up --save --boot --wait --dry-run --help $3"
		;;
	esac
}

# $1: the word, behind it the words before it: istripectl path add|remove|confirm NAME LEG LIST|PATH
_istripectl_path() {
	local word=$1 one
	local -a plain=()

	if [[ $word = -* ]]; then
		_istripectl_offer "$word" '' '--yes --dry-run --help'
		return
	fi
	shift
	for one; do
		[[ $one = -* ]] || plain+=("$one")
	done
	set -- "${plain[@]}"
	case $#:${3:-} in
	2:*) _istripectl_offer "$word" '' 'add remove confirm' ;;
	3:*) _istripectl_offer "$word" '' "$(_istripectl_folders)" ;;
	4:*) _istripectl_offer "$word" '' "$(_istripectl_folders "$4/legs")" ;;
	5:add) _istripectl_list "$word" "$(_istripectl_path_settings)" ;;
	5:remove | 5:confirm)
		_istripectl_offer "$word" '' "$(_istripectl_folders "$4/legs/$5/paths")"
		;;
	esac
}

# $1: the word, behind it the words before it: istripectl reconnect [options] NAME [LEG [PATH]]
_istripectl_reconnect() {
	local word=$1 before='' one options=
	local -a plain=()

	shift 3
	for one; do
		[[ $one = -* || $before = --timeout ]] || plain+=("$one")
		before=$one
	done
	set -- "${plain[@]}"
	case $before:$word:$# in
	--timeout:*) options='30 5min forever' ;;
	*:-*) options='--force --timeout --json --dry-run --help' ;;
	*:0) options=$(_istripectl_folders) ;;
	*:1) options=$(_istripectl_folders "$1/legs") ;;
	*:2) options=$(_istripectl_folders "$1/legs/$2/paths") ;;
	esac
	_istripectl_offer "$word" '' "$options"
}

# $1: the word, behind it the words before it: istripectl set [options] NAME [options] LIST
_istripectl_set() {
	local word=$1 name='' leg='' path='' before=''

	shift 3
	while [ $# != 0 ]; do
		case $1 in
		--leg) before=$1 leg=${2:-} && shift ;;
		--path) before=$1 path=${2:-} && shift ;;
		-*) ;;
		*) name=${name:-$1} ;;
		esac
		# An option whose value is the word itself.
		[ $# != 0 ] || break
		shift
		before=
	done
	case $before:$name in
	--leg:*) _istripectl_offer "$word" '' "$(_istripectl_folders "$name/legs")" ;;
	--path:*)
		_istripectl_offer "$word" '' "$(_istripectl_folders "$name/legs/$leg/paths")"
		;;
	:) _istripectl_offer "$word" '' "--dry-run $(_istripectl_folders)" ;;
	*)
		case $word:$leg:$path in
		-*) _istripectl_offer "$word" '' '--leg --path --dry-run' ;;
		*::) _istripectl_list "$word" "$(_istripectl_settings '*' 'queue_depth')" ;;
		*:) _istripectl_list "$word" "$(_istripectl_settings '*/legs/0' 'policy fence alua')" ;;
		*) _istripectl_list "$word" "$(_istripectl_path_settings)" ;;
		esac
		;;
	esac
}

# Sets words to what is before the word.
_istripectl_before() {
	read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
	[ -z "$word" ] || unset 'words[-1]'
}

# Sets options: $1: status, list or top, $2: the word before
_istripectl_columns() {
	case $2:$1 in
	-o:status | --output:status) options='NAME STATE WHERE DETAILS' ;;
	-o:list | --output:list) options='VOLUME DEVICE STATE SIZE LEGS PATHS' ;;
	-o:top | --output:top)
		options='NAME STATE READ_MB/s WRITE_MB/s IOPS LATENCY_ms QUEUE RETRIES RECONNECTS PING_us RETRANS'
		;;
	--interval:top) options='1 5 500ms 1min' ;;
	*:status) options="--watch --json --output --noheadings --pairs $(_istripectl_folders)" ;;
	*:top)
		options="--once --interval --json --output --noheadings --pairs $(_istripectl_folders)"
		;;
	*)
		options="--json --output --noheadings --pairs $(_istripectl_volumes)"
		;;
	esac
}

_istripectl() {
	local word command=${COMP_WORDS[1]} options=
	local commands='create assemble discover import save apply up down delete path reconnect rescan show status list
		top monitor metrics report examine set doctor help'
	local -a words

	_istripectl_word
	COMPREPLY=()
	if [ "$COMP_CWORD" -le 1 ]; then
		_istripectl_offer "$word" '' "$commands --version --help"
		return
	fi
	case $command in
	create | assemble)
		[ "$command" = assemble ] || options="--force --discover --nics --targets --luns --chap --yes --no-save --no-boot"
		_istripectl_before
		_istripectl_create "$word" "${words[-1]}" "$options"
		_istripectl_trim "$word"
		return
		;;
	discover | import)
		_istripectl_before
		"_istripectl_$command" "$word" "${words[-1]}"
		return
		;;
	help) options=$commands ;;
	path)
		_istripectl_before
		_istripectl_path "$word" "${words[@]}"
		_istripectl_trim "$word"
		return
		;;
	reconnect)
		_istripectl_before
		_istripectl_reconnect "$word" "${words[@]}"
		_istripectl_trim "$word"
		return
		;;
	down) options="--force --all --dry-run $(_istripectl_folders)" ;;
	delete) options="--force --dry-run $(_istripectl_folders)" ;;
	save) options="--boot --dry-run $(_istripectl_folders)" ;;
	apply) options="--dry-run --secrets $(_istripectl_files)" ;;
	show) options="--json --command --conf $(_istripectl_folders)" ;;
	rescan) options="--json --dry-run $(_istripectl_folders)" ;;
	status | list | top)
		_istripectl_before
		_istripectl_columns "$command" "${words[-1]}"
		case ${words[-1]} in
		-o | --output)
			_istripectl_names "$word" "$options"
			return
			;;
		esac
		;;
	set)
		_istripectl_before
		_istripectl_set "$word" "${words[@]}"
		_istripectl_trim "$word"
		return
		;;
	doctor) options="--json --list $(_istripectl_folders)" ;;
	monitor)
		_istripectl_before
		options='--json --program --exec'
		case ${words[-1]} in
		--program | --exec)
			compopt -o default
			return
			;;
		esac
		;;
	examine)
		[[ $word != -* ]] || options=--json
		compopt -o default
		;;
	metrics | report)
		_istripectl_before
		options=--output
		[ "$command" = metrics ] || options="--output $(_istripectl_volumes)"
		case ${words[-1]} in
		-o | --output)
			compopt -o default
			return
			;;
		esac
		;;
	up)
		_istripectl_before
		options="--wait --saved --all --create --dry-run $(_istripectl_volumes)"
		[ "${words[-1]}" != --wait ] || options='30 5min forever'
		;;
	*) return ;;
	esac
	_istripectl_offer "$word" '' "$options"
}

complete -F _istripectl istripectl
